import { invariant } from '../../../runtime/errors/invariant.ts';
import type { Frame } from '../bytecode/frame.ts';
import { delegateOf } from '../language/async-iterator.ts';
import type { AnyFunction } from '../language/itself.ts';
import { apply, listOf } from '../language/primordials.ts';
import { Returned, yieldAll, yieldOnce } from '../language/returned-yield.ts';
import { asyncDriver } from './async-generator-frame.ts';
import {
  type Arguments,
  type Begin,
  type Completion,
  goOn,
  taken,
  yieldAt,
} from './driven-frame.ts';
import type { Machine } from './machine.ts';
import { Suspended } from './suspended.ts';

const placeholder = Symbol('what the engine returns');

/**
 * Generators are native generator functions that drive a frame. The engine keeps the protocol (who is
 * running, requests in a queue, turns of promises, `yield*`), the frame keeps the state of the body.
 *
 * The parameters are taken by the call itself, in a pattern, as natively they are. When the engine
 * lets a `yield` return, what it returns is visible only to the engine: the body continues with a
 * placeholder, and if that is what it returns in the end, the engine's own return is made.
 */
export const generatorCallable = (begin: Begin, machine: Machine): AnyFunction =>
  driver((thisValue, args) => started(begin(thisValue, args), machine), machine);

/** Like `generatorCallable`; the engine also waits where the frame stops at an `await`. */
export const asyncGeneratorCallable = (begin: Begin, machine: Machine): AnyFunction =>
  asyncDriver((thisValue, args) => started(begin(thisValue, args), machine), machine);

/** A new generator, of either kind, over a frame at the start of its body. */
export function generatorOver(frame: Frame, machine: Machine): Generator | AsyncGenerator {
  const make = frame.closure.code.isAsync ? asyncDriver : driver;
  return apply(
    make(() => frame, machine),
    undefined,
    [],
  ) as Generator | AsyncGenerator;
}

/** A generator over a frame that is at the start of its body, suspended at a `yield`, or has returned. */
export function generatorAt(frame: Frame, machine: Machine, state: string): Generator {
  const standing = state === 'yield' ? new Suspended(undefined) : undefined;
  const generator = apply(
    driver(() => frame, machine, standing),
    undefined,
    [],
  ) as Generator;
  if (state === 'done') generator.return(undefined);
  // It arrives at the yield at which the frame stands; the value that it yields was taken before.
  if (standing) generator.next();
  return generator;
}

/** `pending`: how the machine has stopped already. */
function driver(begin: Begin, machine: Machine, pending?: Suspended) {
  return function* (
    this: unknown,
    ...{
      length: frame,
      // biome-ignore lint/complexity/noArguments: the arguments are what the frame is made of
      [taken(begin(this, listOf(arguments)), (made) => {
        frame = made;
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
          goOn(frame, completion, value);
          for (let last = machine(frame); ; last = machine(frame)) {
            // biome-ignore lint/correctness/noUnsafeFinally: another `return` has come
            if (Returned.is(last)) return last.value;
            if (last === placeholder) break;
            // biome-ignore lint/correctness/noUnsafeFinally: the body returns something else
            if (!Suspended.is(last)) return last;
            const isDelegate = yieldAt(frame).mode === 'delegate';
            const standing = isDelegate ? yieldAll(last.value) : yieldOnce(last.value);
            completion = 'return';
            try {
              value = yield* standing;
              completion = 'next';
            } catch (error) {
              completion = 'throw';
              value = error;
            } finally {
              if (completion === 'return') {
                goOn(frame, completion, standing.returned);
                // biome-ignore lint/correctness/noUnsafeFinally: the body goes on, and may still do otherwise
                continue;
              }
            }
            goOn(frame, completion, value);
          }
        }
      }
      goOn(frame, completion, value);
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
