// What a cell finds beside the language: console. And what the host needs: a
// function that says what a cell came to, as JSON. Nothing of it is reached by
// way of what cells can change.
(function (print) {
	const { stringify } = JSON;
	const text = String;
	const { apply, defineProperty } = Reflect;
	const isArray = Array.isArray;
	const { forEach: eachOfMap } = Map.prototype;
	const { forEach: eachOfSet } = Set.prototype;
	const ErrorOf = Error;
	const maxLevels = 40;

	const list = () => ({ __proto__: null, length: 0 });
	const add = (to, item) => { to[to.length++] = item; };

	// asArray makes the array that is shown for a map or a set.
	function asArray(each, of) {
		const items = [];
		let n = 0;
		apply(each, of, [(value, key) => {
			const item = each === eachOfMap ? [key, value] : value;
			defineProperty(items, n++, { __proto__: null, value: item, enumerable: true });
		}]);
		return items;
	}

	// shown returns what JSON has for a value of which it has nothing good itself.
	function shown(value) {
		switch (typeof value) {
		case "bigint": return text(value) + "n";
		case "symbol": return text(value);
		case "function": return "[function " + text(value.name) + "]";
		case "object": break;
		default: return value;
		}
		if (value === null || isArray(value)) return value;
		try { return asArray(eachOfMap, value); } catch {}
		try { return asArray(eachOfSet, value); } catch {}
		if (value instanceof ErrorOf) return text(value.name) + ": " + text(value.message);
		return value;
	}

	// json returns a value as JSON, undefined if there is none for it.
	function json(value) {
		const above = list(); // each with what is shown for it
		try {
			return stringify(value, function (_, given) {
				while (above.length > 0 && above[above.length - 1].shown !== this) above.length--;
				for (let i = 0; i < above.length; i++)
					if (above[i].given === given) return "[circular]";
				const as = shown(given);
				if (typeof as === "object" && as !== null) {
					if (above.length >= maxLevels) return "[deeper]";
					add(above, { __proto__: null, given, shown: as });
				}
				return as;
			});
		} catch {
			try { return stringify(text(value)); } catch { return '"[unprintable]"'; }
		}
	}

	function line(args) {
		let all = "";
		for (let i = 0; i < args.length; i++)
			all += (i > 0 ? " " : "") + (typeof args[i] === "string" ? args[i] : json(args[i]) ?? "undefined");
		return all;
	}

	function field(of, name) {
		try {
			const value = of[name];
			return value === undefined ? undefined : text(value);
		} catch {
			return undefined;
		}
	}

	function fault(thrown) {
		if (typeof thrown !== "object" || thrown === null)
			return { __proto__: null, name: "Thrown", message: typeof thrown === "string" ? thrown : json(thrown) ?? "undefined" };
		return {
			__proto__: null, name: field(thrown, "name") ?? "Thrown",
			message: field(thrown, "message") ?? json(thrown), stack: field(thrown, "stack"),
		};
	}

	const console = {};
	for (const level of ["log", "info", "warn", "error", "debug"])
		console[level] = function () { print(line(arguments)); };
	defineProperty(globalThis, "console", { value: console, writable: true, configurable: true });

	const never = {
		__proto__: null, name: "Unsettled",
		message: "The cell waits for a promise that nothing will settle: there are no timers here, and nothing comes from outside.",
	};

	return function (how, value) {
		switch (how) {
		case 0: return value === undefined ? "{}" : '{"value":' + (json(value) ?? "null") + "}";
		case 1: return '{"error":' + stringify(fault(value)) + "}";
		default: return '{"error":' + stringify(never) + "}";
		}
	};
})
