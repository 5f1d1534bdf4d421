/**
 * Macrotasks: only between them do engines run finalizers, timers, signal handlers and requests, and pages draw and
 * handle input. Awaits of values that are there already run in microtasks, before any of these.
 */

// As the module finds them: fake clocks of tests replace them later.
const { setImmediate, MessageChannel } = globalThis as {
  setImmediate?: (body: () => void) => void;
  MessageChannel?: typeof globalThis.MessageChannel;
};

/** Milliseconds after which a loop of awaits waits for a macrotask; longer tasks count as blocking in pages. */
const longestTask = 50;

/** Resolves in a new macrotask. Finalizers of collected tensors run before it, never between microtasks. */
export function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (setImmediate) return setImmediate(resolve);
    if (!MessageChannel) return setTimeout(resolve, 0);
    // Pages delay nested timers by 4 ms, and those of hidden tabs by a second or a minute.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** The next macrotask, once a read has requested it, and the times of the first and of the latest request. */
let next: Promise<void> | null = null;
let since = 0;
let latest = 0;

/** Returns the next macrotask if the current one has lasted long enough, else null. */
export function overdueMacrotask(): Promise<void> | null {
  const now = performance.now();
  if (next === null) since = now;
  // Requested again once it is overdue: Cloudflare's workers drop what a request that has ended was waiting for.
  if (next === null || now - latest >= longestTask) {
    latest = now;
    // They reject timers while they start.
    next = macrotask().then(begin, begin);
  }
  return now - since < longestTask ? null : next;
}

function begin(): void {
  next = null;
}
