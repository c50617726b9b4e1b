// The door between the host and QuickJS. It is compiled together with the engine
// into quickjs.wasm; build.sh says how.
//
// Everything lives in the linear memory, so that a copy of it, taken while no
// export runs, is the whole state. What is freed is wiped: the copy then has
// nothing in it but what is alive, and compresses well.

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "quickjs.c"

#define FROM_HOST(name) __attribute__((import_module("host"), import_name(name)))
#define TO_HOST(name) __attribute__((export_name(name)))

// A line of output, and what a cell came to, as text in UTF-8.
FROM_HOST("print") void host_print(const char *text, size_t bytes);
FROM_HOST("outcome") void host_outcome(const char *text, size_t bytes);

static JSRuntime *runtime;
static JSContext *context;
static JSValue tell; // of the prelude: what a cell came to, as text

static bool starved; // the cell has asked for more memory than there is

static void *noted(void *at) {
    starved |= !at;
    return at;
}

static void *wiping_calloc(void *opaque, size_t count, size_t size) { return noted(calloc(count, size)); }

static void *wiping_malloc(void *opaque, size_t size) { return noted(malloc(size)); }

static void wiping_free(void *opaque, void *at) {
    if (at)
        memset(at, 0, malloc_usable_size(at));
    free(at);
}

static void *wiping_realloc(void *opaque, void *at, size_t size) {
    if (!at)
        return noted(malloc(size));
    size_t had = malloc_usable_size(at);
    if (size <= had && size >= had / 2)
        return at;
    void *moved = noted(malloc(size));
    if (moved) {
        memcpy(moved, at, size < had ? size : had);
        wiping_free(opaque, at);
    }
    return moved;
}

static size_t usable(const void *at) { return malloc_usable_size((void *)at); }

static const JSMallocFunctions wiping = {
    wiping_calloc, wiping_malloc, wiping_free, wiping_realloc, usable,
};

static JSValue print(JSContext *ctx, JSValueConst self, int count, JSValueConst *args) {
    size_t bytes;
    const char *text = JS_ToCStringLen(ctx, &bytes, args[0]);
    if (!text)
        return JS_EXCEPTION;
    host_print(text, bytes);
    JS_FreeCString(ctx, text);
    return JS_UNDEFINED;
}

// alloc returns room for a text and the zero behind it. start and run free it.
TO_HOST("alloc") char *alloc(size_t bytes) { return calloc(bytes + 1, 1); }

// start makes the engine and runs the prelude, a function of print that returns
// tell. What goes deeper on the stack than the address that is given throws. It is
// called once, in a fresh memory; 0 means that it went well.
TO_HOST("start") int start(char *prelude, size_t bytes, size_t deepest) {
    runtime = JS_NewRuntime2(&wiping, NULL);
    if (!runtime || !(context = JS_NewContext(runtime)))
        return 1;
    // The engine takes it that it cannot know its stack here. It can: the stack is
    // at the bottom of the memory and grows towards 0.
    runtime->stack_limit = deepest;
    JSValue make = JS_Eval(context, prelude, bytes, "prelude", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_STRICT);
    JSValue printing = JS_NewCFunction(context, print, "print", 1);
    tell = JS_Call(context, make, JS_UNDEFINED, 1, &printing);
    JS_FreeValue(context, printing);
    JS_FreeValue(context, make);
    wiping_free(NULL, prelude);
    return JS_IsException(tell);
}

enum { finished, threw, unsettled, speechless, hungry };

// result returns what a promise has come to, and frees it.
static JSValue result(JSValue promise, int *how) {
    JSPromiseStateEnum state = JS_PromiseState(context, promise);
    *how = state == JS_PROMISE_FULFILLED ? finished : state == JS_PROMISE_REJECTED ? threw : unsettled;
    JSValue value = JS_PromiseResult(context, promise);
    JS_FreeValue(context, promise);
    return value;
}

// settle runs all that is pending, and returns what the cell's promise came to. A
// promise that the cell has as its value is waited for likewise.
static JSValue settle(JSValue promise, int *how) {
    JSContext *of;
    int ran;
    while ((ran = JS_ExecutePendingJob(runtime, &of)) != 0)
        if (ran < 0)
            JS_FreeValue(of, JS_GetException(of));
    JSValue holder = result(promise, how);
    if (*how != finished)
        return holder;
    JSValue value = JS_GetPropertyStr(context, holder, "value");
    JS_FreeValue(context, holder);
    return JS_IsPromise(value) ? result(value, how) : value;
}

// run runs one cell, and gives the host what it came to. It returns how: 0 when
// the cell finished, 1 when it threw, 2 when it waits for what will never come,
// 3 when the engine could not even say, 4 when the cell threw and had too little
// memory before.
TO_HOST("run") int run(char *code, size_t bytes, uint64_t seed) {
    int how = threw;
    starved = false;
    context->random_state = seed | 1;
    JSValue value = JS_Eval(context, code, bytes, "cell", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_ASYNC);
    wiping_free(NULL, code);
    if (JS_IsException(value))
        value = JS_GetException(context);
    else
        value = settle(value, &how);
    JSValue args[] = {JS_NewInt32(context, how), value};
    JSValue told = JS_Call(context, tell, JS_UNDEFINED, 2, args);
    JS_FreeValue(context, value);
    size_t length;
    const char *text = JS_IsException(told) ? NULL : JS_ToCStringLen(context, &length, told);
    if (text) {
        host_outcome(text, length);
        JS_FreeCString(context, text);
    } else {
        JS_FreeValue(context, JS_GetException(context));
        how = speechless;
    }
    JS_FreeValue(context, told);
    if (how == finished)
        JS_RunGC(runtime);
    return how != finished && starved ? hungry : how;
}
