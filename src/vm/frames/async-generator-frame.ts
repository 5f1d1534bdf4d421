import type { Frame } from '../bytecode/frame.ts';
import { liveDuring } from '../bytecode/liveness.ts';
import { delegateOf } from '../language/async-iterator.ts';
import { apply, listOf } from '../language/primordials.ts';
import {
  type Arguments,
  type Begin,
  type Completion,
  continueWith,
  taken,
  yieldAt,
} from './driven-frame.ts';
import type { Machine } from './machine.ts';
import { Suspended } from './suspended.ts';

/**
 * Like `driver`, for async generators, whose frames are also suspended at `await`. Each yield and await is the engine's
 * own, so that microtasks keep their native order, even in a `finally` entered by a `return`. Only if the body yields
 * again while another `return` is pending does an inner generator represent it. `pending`: the suspension at which the
 * machine has already stopped.
 */
export function asyncDriver(begin: Begin, machine: Machine, pending?: Suspended) {
  return async function* (
    this: unknown,
    ...{
      length: frame,
      // biome-ignore lint/complexity/noArguments: the frame is created from the arguments
      [taken(begin(this, listOf(arguments)), (started) => {
        frame = started;
      })]: _length,
    }: Arguments
  ): AsyncGenerator<unknown, unknown> {
    let result: unknown = pending ?? machine(frame);
    all: for (;;) {
      if (!Suspended.is(result)) {
        // Returning a value awaits it, which the body has already done.
        if (result === undefined) return;
        return result;
      }
      const { mode } = yieldAt(frame);
      let completion: Completion = 'return';
      let value: unknown;
      try {
        if (mode === 'return') return result.value;
        if (mode === 'await') value = await result.value;
        else if (mode === 'yield') value = yield result.value;
        else value = yield* delegateOf(result.value, true) as AsyncIterable<unknown>;
        completion = 'next';
      } catch (error) {
        completion = 'throw';
        value = error;
      } finally {
        if (completion === 'return') {
          const first = Symbol('what the engine returns');
          continueWith(frame, completion, first);
          let last = machine(frame);
          for (;;) {
            if (last === first) break;
            // biome-ignore lint/correctness/noUnsafeFinally: the body ends without a value
            if (last === undefined) return;
            // biome-ignore lint/correctness/noUnsafeFinally: the body returns something else
            if (!Suspended.is(last)) return last;
            if (!isPending(frame, first)) {
              result = last;
              continue all; // the body continues as if nothing had been returned
            }
            const { mode } = yieldAt(frame);
            completion = 'return';
            try {
              // biome-ignore lint/correctness/noUnsafeFinally: the body returns something else, which the engine awaits
              if (mode === 'return') return last.value;
              if (mode === 'await') value = await last.value;
              else if (mode === 'yield') value = yield last.value;
              else value = yield* delegateOf(last.value, true) as AsyncIterable<unknown>;
              completion = 'next';
            } catch (error) {
              completion = 'throw';
              value = error;
            } finally {
              if (completion === 'return') {
                const second = Symbol('what the engine returns instead');
                continueWith(frame, completion, second);
                let end = machine(frame);
                while (Suspended.is(end) && isPending(frame, second)) {
                  if (yieldAt(frame).mode !== 'await') break;
                  let completion: Completion = 'next';
                  let waited: unknown;
                  try {
                    waited = await end.value;
                  } catch (error) {
                    completion = 'throw';
                    waited = error;
                  }
                  continueWith(frame, completion, waited);
                  end = machine(frame);
                }
                if (Suspended.is(end) && !isPending(frame, second)) {
                  last = end;
                  // biome-ignore lint/correctness/noUnsafeFinally: the body continues with the first return
                  continue;
                }
                if (Suspended.is(end)) {
                  end = yield* apply(
                    asyncDriver(() => frame, machine, end),
                    undefined,
                    [],
                  );
                }
                // biome-ignore lint/correctness/noUnsafeFinally: the first return applies after all
                if (end === first) break;
                // biome-ignore lint/correctness/noUnsafeFinally: the body ends without a value
                if (end === undefined) return;
                // biome-ignore lint/correctness/noUnsafeFinally: the body returns something else
                if (end !== second) return end;
              }
            }
            continueWith(frame, completion, value);
            last = machine(frame);
          }
        }
      }
      continueWith(frame, completion, value);
      result = machine(frame);
    }
  };
}

/** Returns whether the frame may still return the placeholder of a `return`; a `break` may have dropped it. */
function isPending({ closure, pc, registers }: Frame, returned: symbol): boolean {
  for (const register of liveDuring(closure.code, pc)) {
    if (registers[register] === returned) return true;
  }
  return false;
}
