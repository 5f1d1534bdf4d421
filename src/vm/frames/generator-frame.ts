import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Frame } from '../bytecode/frame.ts';
import { delegateOf } from '../language/async-iterator.ts';
import { apply, listOf } from '../language/primordials.ts';
import type { AnyFunction } from '../language/return-override.ts';
import { Returned, yieldAll, yieldOnce } from '../language/returned-yield.ts';
import { asyncDriver } from './async-generator-frame.ts';
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

const placeholder = Symbol('what the engine returns');

/**
 * Returns a native generator function that drives a frame. The engine implements the protocol (which generator is
 * running, queued requests, promise jobs, `yield*`); the frame contains the state of the body.
 *
 * The call itself binds the parameters, in a pattern, like a native call. If the engine makes a `yield` return, only
 * the engine sees the returned value: the body continues with a placeholder, and if it finally returns the placeholder,
 * the engine's own return takes effect.
 */
export const generatorCallable = (begin: Begin, machine: Machine): AnyFunction =>
  driver((thisValue, args) => started(begin(thisValue, args), machine), machine);

/** Like `generatorCallable`; the engine also awaits when the frame is suspended at an `await`. */
export const asyncGeneratorCallable = (begin: Begin, machine: Machine): AnyFunction =>
  asyncDriver((thisValue, args) => started(begin(thisValue, args), machine), machine);

/** Returns a new generator, sync or async, over a frame at the start of its body. */
export function generatorOver(frame: Frame, machine: Machine): Generator | AsyncGenerator {
  const make = frame.closure.code.isAsync ? asyncDriver : driver;
  return apply(
    make(() => frame, machine),
    undefined,
    [],
  ) as Generator | AsyncGenerator;
}

/** Returns a generator over a frame that is at the start of its body, suspended at a `yield`, or done. */
export function generatorAt(frame: Frame, machine: Machine, state: string): Generator {
  const suspension = state === 'yield' ? new Suspended(undefined) : undefined;
  const generator = apply(
    driver(() => frame, machine, suspension),
    undefined,
    [],
  ) as Generator;
  if (state === 'done') generator.return(undefined);
  // Moves the generator to the yield at which the frame is suspended; the yielded value was already taken.
  if (suspension) generator.next();
  return generator;
}

/** `pending`: the suspension at which the machine has already stopped. */
function driver(begin: Begin, machine: Machine, pending?: Suspended) {
  return function* (
    this: unknown,
    ...{
      length: frame,
      // biome-ignore lint/complexity/noArguments: the frame is created from the arguments
      [taken(begin(this, listOf(arguments)), (begun) => {
        frame = begun;
      })]: _length,
    }: Arguments
  ): Generator<unknown, unknown> {
    for (let result: unknown = pending ?? machine(frame); ; result = machine(frame)) {
      if (!Suspended.is(result)) return result;
      let completion: Completion = 'return';
      let value: unknown = placeholder;
      try {
        value =
          yieldAt(frame).mode === 'delegate'
            ? yield* delegateOf(result.value, false) as Iterable<unknown>
            : yield result.value;
        completion = 'next';
      } catch (error) {
        completion = 'throw';
        value = error;
      } finally {
        if (completion === 'return') {
          continueWith(frame, completion, value);
          for (let last = machine(frame); ; last = machine(frame)) {
            // biome-ignore lint/correctness/noUnsafeFinally: another `return` has arrived
            if (Returned.is(last)) return last.value;
            if (last === placeholder) break;
            // biome-ignore lint/correctness/noUnsafeFinally: the body returns something else
            if (!Suspended.is(last)) return last;
            const isDelegate = yieldAt(frame).mode === 'delegate';
            const iterator = isDelegate ? yieldAll(last.value) : yieldOnce(last.value);
            completion = 'return';
            try {
              value = yield* iterator;
              completion = 'next';
            } catch (error) {
              completion = 'throw';
              value = error;
            } finally {
              if (completion === 'return') {
                continueWith(frame, completion, iterator.returned);
                // biome-ignore lint/correctness/noUnsafeFinally: the body continues, and may still do something else
                continue;
              }
            }
            continueWith(frame, completion, value);
          }
        }
      }
      continueWith(frame, completion, value);
    }
  };
}

/** Runs the parameter list. */
function started(frame: Frame, machine: Machine): Frame {
  const result = machine(frame);
  invariant(Suspended.is(result), 'a generator stops before its body');
  frame.pc++;
  return frame;
}
