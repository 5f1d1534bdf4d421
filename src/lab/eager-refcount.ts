import { CaptureError } from '../../runtime/errors/errors.ts';
import { isTracked, keep, tidy } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { isTensorFunction } from '../3-trace/api.ts';
import { isRefused } from '../3-trace/code-of.ts';
import { isFrameworkFile, isInlinedFrameworkFile } from '../3-trace/framework-files.ts';
import { reads } from '../bytecode/effects.ts';
import { type Closure, type Frame, newFrame } from '../bytecode/frame.ts';
import type { Instruction, Opcode } from '../bytecode/instructions.ts';
import { dyingBetween } from '../bytecode/liveness.ts';
import { codeOf } from '../code-cache.ts';
import { mayRead } from '../resume/held.ts';
import { closureOf, runFrames } from '../resume/interpreter.ts';

/**
 * The honest eager baseline: runs `fn` op by op through its bytecode and gives each tensor back at the
 * last use of the last register that holds it, which is what reference counting gives a CPython
 * program. User functions and modules that it calls run the same way.
 *
 * A tensor that was put into an object or handed to foreign code is given back when the call ends, or
 * not at all when it was stored in something that lives on: only registers are counted.
 * Throws CaptureError when the function has no bytecode.
 */
export function refcounted<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R {
  return function (this: unknown, ...args: A): R {
    const found = codeOf(fn);
    if (isRefused(found)) {
      throw new CaptureError({
        what: 'refcounted: the function has no bytecode',
        given: fn.name || 'a function without name',
        expected: 'a function that can be captured',
        remedy: found.why,
      });
    }
    if (found.closure.code.isAsync) {
      throw new CaptureError({
        what: 'refcounted: the function is async',
        given: fn.name || 'a function without name',
        expected: 'a function that runs from its start to its end',
        remedy: 'count the synchronous part',
      });
    }
    const self = found.closure.lexicalThis ? found.closure.lexicalThis.value : this;
    // What registers don't release is released with the call.
    return tidy(() => new CountedRun(found.closure, self, args).run() as R);
  };
}

class CountedRun {
  readonly #frames: Frame[];
  /** Held by an object or by foreign code: not released by a register. */
  readonly #shared = new Set<unknown>();

  constructor(closure: Closure, thisValue: unknown, args: readonly unknown[]) {
    this.#frames = [newFrame(closure, thisValue, args)];
  }

  run(): unknown {
    return runFrames(this.#frames, {
      enterCall: (callee, thisValue, args) => {
        const closure = enteredClosure(callee);
        return closure && { closure, thisValue, args };
      },
      afterInstruction: (frame, pc, instruction, before) => {
        this.#share(frame, instruction);
        // What a variable held before it was assigned again.
        this.#release(before, this.#frames);
        for (const register of dyingBetween(frame.closure.code, pc, frame.pc)) {
          this.#release(frame.registers[register], this.#frames);
        }
      },
      onReturn: (frame, value) => {
        const callers = this.#frames.slice(0, -1);
        for (const held of new Set(frame.registers)) {
          if (held !== value) this.#release(held, callers);
        }
      },
    });
  }

  #release(value: unknown, frames: readonly Frame[]): void {
    // Parameters and other tensors that come from outside are not this run's to release.
    if (!(value instanceof Tensor) || !isTracked(value) || this.#shared.has(value)) return;
    if (!frames.some((frame) => mayRead(frame, value))) value.dispose();
  }

  /** Remembers operands that something other than a register holds from now on. */
  #share(frame: Frame, instruction: Instruction): void {
    if (!keepsOperands(frame, instruction)) return;
    for (const register of reads(instruction)) {
      const value = frame.registers[register];
      if (!(value instanceof Tensor)) continue;
      this.#shared.add(value);
      if (storesOutside.has(instruction.op)) keep(value);
    }
  }
}

/** The closure to go on in as bytecode: user functions and modules, not the tensor API. */
function enteredClosure(callee: unknown): Closure | undefined {
  const made = closureOf(callee);
  if (made) return made.code.isAsync ? undefined : made;
  if (typeof callee !== 'function' || isTensorFunction(callee)) return undefined;
  const found = codeOf(callee);
  if (isRefused(found) || found.boundThis || found.boundArgs.length > 0) return undefined;
  const { isAsync, source } = found.closure.code;
  if (isAsync) return undefined;
  const { file } = source;
  return isFrameworkFile(file) && !isInlinedFrameworkFile(file) ? undefined : found.closure;
}

/** Writes into objects that may outlive the call. */
const storesOutside: ReadonlySet<Opcode> = new Set<Opcode>(['setProp', 'setElem', 'storeFree']);
const storesInside: ReadonlySet<Opcode> = new Set<Opcode>([
  'newArray',
  'arrayPush',
  'defineProp',
  'objectSpread',
  'restArgs',
  'storeCell',
]);

function keepsOperands(frame: Frame, instruction: Instruction): boolean {
  const { op } = instruction;
  if (op === 'call' || op === 'callSpread') {
    const callee = frame.registers[instruction.callee];
    return !isTensorFunction(callee) && !enteredClosure(callee);
  }
  return storesOutside.has(op) || storesInside.has(op) || op.startsWith('construct');
}
