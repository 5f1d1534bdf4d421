import { invariant } from '../../runtime/errors/invariant.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { InstructionOf } from '../bytecode/instructions.ts';
import { delegateOf } from './async-iterator.ts';
import type { Machine } from './function-of.ts';
import type { AnyFunction } from './itself.ts';
import { apply, listOf } from './primordials.ts';
import { Suspended } from './suspended.ts';
import { catchIn } from './unwind.ts';

/** Makes the frame of a call. */
type Begin = (thisValue: unknown, args: readonly unknown[]) => Frame;

type Way = 'next' | 'throw' | 'return';

const placeholder = Symbol('what the engine returns');

/**
 * The argument list of a generator function. Its parameter takes a length and is given the frame, in the key of a
 * pattern: so only what every list has of its own is read.
 */
type Arguments = unknown[] & { readonly length: Frame };

/** Gives the frame to the parameter, and answers a key that every list has. */
function taken(frame: Frame, give: (frame: Arguments['length']) => void): 'length' {
  give(frame as Arguments['length']);
  return 'length';
}

/**
 * Generators are native generator functions that drive a frame. The engine keeps the protocol (who is
 * running, requests in a queue, turns of promises, `yield*`), the frame keeps the state of the body.
 *
 * The parameters are taken by the call itself, in a pattern, as natively they are. When the engine
 * lets a `yield` return, what it returns is seen by nobody but the engine: the body goes on with a
 * placeholder, and if that is what it returns in the end, the engine's own return goes its way.
 */
export const generatorCallable = (begin: Begin, machine: Machine): AnyFunction =>
  driver((thisValue, args) => started(begin(thisValue, args), machine), machine);

/** As `generatorCallable`; the engine waits where the frame stops at an `await` as well. */
export const asyncGeneratorCallable = (begin: Begin, machine: Machine): AnyFunction =>
  asyncDriver((thisValue, args) => started(begin(thisValue, args), machine), machine);

/** A new generator, of either kind, over a frame that stands at the start of its body. */
export function generatorOver(frame: Frame, machine: Machine): Generator | AsyncGenerator {
  const make = frame.closure.code.isAsync ? asyncDriver : driver;
  return apply(
    make(() => frame, machine),
    undefined,
    [],
  ) as Generator | AsyncGenerator;
}

/** A generator over a frame that stands at the start of its body, at a `yield`, or has returned. */
export function generatorAt(frame: Frame, machine: Machine, state: string): Generator {
  const standing = state === 'yield' ? new Suspended(undefined) : undefined;
  const generator = apply(
    driver(() => frame, machine, standing),
    undefined,
    [],
  ) as Generator;
  if (state === 'done') generator.return(undefined);
  // It arrives at the yield at which the frame stands; what that hands out was taken before.
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
      let way: Way = 'return';
      let value: unknown = placeholder;
      try {
        value =
          yieldAt(frame).mode === 'delegate'
            ? yield* delegateOf(result.value, false) as Iterable<unknown>
            : yield result.value;
        way = 'next';
      } catch (error) {
        way = 'throw';
        value = error;
      } finally {
        if (way === 'return') {
          goOn(frame, way, value);
          const rest = machine(frame);
          const last = Suspended.is(rest)
            ? yield* apply(
                driver(() => frame, machine, rest),
                undefined,
                [],
              )
            : rest;
          // biome-ignore lint/correctness/noUnsafeFinally: the body returns something else
          if (last !== placeholder) return last;
        }
      }
      goOn(frame, way, value);
    }
  };
}

function asyncDriver(begin: Begin, machine: Machine, pending?: Suspended) {
  return async function* (
    this: unknown,
    ...{
      length: frame,
      // biome-ignore lint/complexity/noArguments: the arguments are what the frame is made of
      [taken(begin(this, listOf(arguments)), (made) => {
        frame = made;
      })]: _length,
    }: Arguments
  ): AsyncGenerator<unknown, unknown> {
    for (let result: unknown = pending ?? machine(frame); ; result = machine(frame)) {
      if (!Suspended.is(result)) {
        // Returning a value waits for it, which the body has done.
        if (result === undefined) return;
        return result;
      }
      const { mode } = yieldAt(frame);
      let way: Way = 'return';
      let value: unknown = placeholder;
      try {
        if (mode === 'return') return result.value;
        if (mode === 'await') value = await result.value;
        else if (mode === 'yield') value = yield result.value;
        else value = yield* delegateOf(result.value, true) as AsyncIterable<unknown>;
        way = 'next';
      } catch (error) {
        way = 'throw';
        value = error;
      } finally {
        if (way === 'return') {
          goOn(frame, way, value);
          let last = machine(frame);
          // Waiting here costs no turn more than natively; a generator inside would.
          while (Suspended.is(last) && yieldAt(frame).mode === 'await') {
            let way: Way = 'next';
            let waited: unknown;
            try {
              waited = await last.value;
            } catch (error) {
              way = 'throw';
              waited = error;
            }
            goOn(frame, way, waited);
            last = machine(frame);
          }
          if (Suspended.is(last)) {
            last = yield* apply(
              asyncDriver(() => frame, machine, last),
              undefined,
              [],
            );
          }
          // biome-ignore lint/correctness/noUnsafeFinally: the body ends without a value
          if (last === undefined) return;
          // biome-ignore lint/correctness/noUnsafeFinally: the body returns something else
          if (last !== placeholder) return last;
        }
      }
      goOn(frame, way, value);
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

/** What the frame of a generator hands out, or waits for, where it stands; undefined: it stands elsewhere. */
export function suspensionOf(frame: Frame): Suspended | undefined {
  const instruction = frame.closure.code.instructions[frame.pc]!;
  if (instruction.op !== 'yield' && instruction.op !== 'await') return undefined;
  return new Suspended(frame.registers[instruction.src]);
}

function yieldAt({ closure, pc }: Frame): {
  readonly mode: InstructionOf<'yield'>['mode'] | 'await';
} {
  const instruction = closure.code.instructions[pc]!;
  if (instruction.op === 'yield') return instruction;
  invariant(instruction.op === 'await', 'a generator stops where it yields or waits');
  return { mode: 'await' };
}

/** The engine's side of a `yield` or `await` is done. */
function goOn(frame: Frame, way: Way, value: unknown): void {
  if (way === 'throw') {
    if (!catchIn(frame, frame.pc, value)) throw value;
    return;
  }
  const instruction = frame.closure.code.instructions[frame.pc] as InstructionOf<'yield' | 'await'>;
  frame.registers[instruction.dst] = value;
  frame.pc = way === 'return' && 'target' in instruction ? instruction.target : frame.pc + 1;
}
