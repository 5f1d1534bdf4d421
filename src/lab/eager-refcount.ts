import { enableGrad, noGrad } from '../../runtime/autograd/grad-mode.ts';
import { deviceGuard } from '../../runtime/device/current.ts';
import { CaptureError } from '../../runtime/errors/errors.ts';
import { expectFunction } from '../../runtime/options/expect-arguments.ts';
import { expectArguments, expectOptions } from '../../runtime/options/expect-options.ts';
import { isTensor } from '../../runtime/options/is-tensor.ts';
import { isTracked, keep, tidy } from '../../runtime/tensor/lifetime.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import { isTensorFunction } from '../3-trace/builtins/api.ts';
import { operandChecks } from '../3-trace/machine/calls/option-checks.ts';
import { isFrameworkFile, isInlinedFrameworkFile } from '../3-trace/state/framework-files.ts';
import { isRefused } from '../3-trace/variables/code-of.ts';
import { codeOf } from '../dispatch/code-cache.ts';
import { reads, writes } from '../vm/bytecode/effects.ts';
import type { Closure, Frame } from '../vm/bytecode/frame.ts';
import type { Instruction, InstructionOf, Opcode, Reg } from '../vm/bytecode/instructions.ts';
import { dyingBetween } from '../vm/bytecode/liveness.ts';
import { newFrame } from '../vm/frames/activation.ts';
import { mayRead } from '../vm/frames/held.ts';
import { closureOf, runFrames } from '../vm/machine/run-frames.ts';
import { MadeObjects } from './made-objects.ts';

/**
 * The eager baseline: runs `fn` op by op through its bytecode and frees each tensor at the last use of the last
 * register that holds it, as reference counting does in a CPython program. User functions and modules that it calls
 * run the same way.
 *
 * Lists, objects and closures that the function creates hold their tensors as long as they are reachable. A tensor
 * that was passed to native code is freed when the call ends, or not at all if it was stored in a pre-existing
 * object. Throws CaptureError if the function has no bytecode.
 */
export function refcounted<A extends unknown[], R>(fn: (...args: A) => R): (...args: A) => R {
  expectFunction('refcounted', fn);
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
    // Tensors that registers don't release are released at the end of the call.
    return tidy(() => new CountedRun(found.closure, self, args).run() as R);
  };
}

class CountedRun {
  readonly #frames: Frame[];
  readonly #objects = new MadeObjects();
  /** Values referenced by a pre-existing object or by native code: registers don't release them. */
  readonly #escaped = new Set<unknown>();
  /** Whether an object that may have referenced tensors has become unreachable. */
  #isHolderGone = false;

  constructor(closure: Closure, thisValue: unknown, args: readonly unknown[]) {
    this.#frames = [newFrame(closure, thisValue, args)];
  }

  run(): unknown {
    return runFrames(this.#frames, {
      enterCall,
      afterInstruction: (frame, pc, instruction, before) => {
        this.#follow(frame, instruction, before);
        // The variable's previous value.
        this.#release(before, this.#frames);
        for (const register of dyingBetween(frame.closure.code, pc, frame.pc)) {
          this.#release(frame.registers[register], this.#frames);
        }
        this.#releaseUnreachable(this.#frames);
      },
      onReturn: (frame, value) => {
        const callers = this.#frames.slice(0, -1);
        for (const held of new Set(frame.registers)) {
          if (held !== value) this.#release(held, callers);
        }
        this.#releaseUnreachable(callers, value);
      },
    });
  }

  #release(value: unknown, frames: readonly Frame[]): void {
    if (!(value instanceof Tensor)) {
      if (this.#objects.isHolder(value)) this.#isHolderGone = true;
      return;
    }
    if (!this.#isOwn(value)) return;
    if (this.#objects.isInside(value)) this.#isHolderGone = true;
    else if (!frames.some((frame) => mayRead(frame, value))) value.dispose();
  }

  /** Whether the run created the tensor; parameters and other pre-existing tensors must not be released. */
  #isOwn(tensor: Tensor): boolean {
    return isTracked(tensor) && !this.#escaped.has(tensor);
  }

  #releaseUnreachable(frames: readonly Frame[], value?: unknown): void {
    if (!this.#isHolderGone) return;
    this.#isHolderGone = false;
    for (const tensor of this.#objects.takeUnreachable(frames, value)) {
      if (this.#isOwn(tensor)) tensor.dispose();
    }
  }

  /** Tracks tensors that are stored in objects or read from them. */
  #follow(frame: Frame, instruction: Instruction, before: unknown): void {
    const { op } = instruction;
    const objects = this.#objects;
    const target = writes(instruction);
    const result = target === undefined ? undefined : frame.registers[target];
    // The result may have replaced an operand in its register.
    const read = (register: Reg) => (register === target ? before : frame.registers[register]);
    if (makers.has(op)) objects.add(result);
    else if (op === 'getIterator') objects.iterate(result, read(instruction.iterable));
    else if (op === 'loadCell') objects.put(result);
    else if (op === 'getProp' || op === 'getElem') {
      const object = read(instruction.object);
      if (objects.has(object)) objects.put(result);
      else if (!(object instanceof Tensor)) this.#escape([result]);
    } else if (op === 'call' || op === 'callSpread') this.#followCall(frame, instruction, before);
    else if (op === 'storeCell') this.#store(read(instruction.cell), [read(instruction.src)]);
    else if (stores.has(op)) {
      const [into, ...values] = reads(instruction).map(read);
      this.#store(into, values);
    } else if (escapes.has(op)) this.#escape(reads(instruction).map(read), op === 'storeFree');
  }

  /** Stores values in an object, whose earlier contents may now be freed. */
  #store(into: unknown, values: readonly unknown[]): void {
    if (this.#objects.has(into)) {
      this.#objects.add(into);
      this.#isHolderGone = true;
    } else this.#escape(values, true);
  }

  #followCall(
    { registers }: Frame,
    instruction: InstructionOf<'call'> | InstructionOf<'callSpread'>,
    before: unknown,
  ): void {
    const { dst } = instruction;
    const read = (register: Reg) => (register === dst ? before : registers[register]);
    const callee = read(instruction.callee);
    const [first] = instruction.op === 'call' ? instruction.args.map(read) : [];
    if (enterCall(callee, undefined, [first])) return;
    if (isTensorFunction(callee) || makesList.has(callee)) {
      this.#objects.add(registers[dst]);
    } else if (holdsNothing.has(callee)) {
      this.#escape([registers[dst]].filter((value) => !(value instanceof Tensor)));
    } else {
      const receiver = instruction.receiver === null ? undefined : read(instruction.receiver);
      if (changesList.has(callee)) this.#store(receiver, reads(instruction).map(read));
      else this.#escape(reads(instruction).map(read));
    }
  }

  /** Marks the values as referenced elsewhere; `persists`: also after the call. */
  #escape(values: readonly unknown[], persists = false): void {
    for (const value of this.#objects.reachableFrom(values)) {
      if (!(value instanceof Tensor) || !isTracked(value)) continue;
      this.#escaped.add(value);
      if (persists) keep(value);
    }
  }
}

/** Enters the function that a call runs. In `tidy`, values are freed at their last use instead of at its end. */
function enterCall(callee: unknown, thisValue: unknown, args: readonly unknown[]) {
  const isTidy = callee === tidy;
  const closure = enteredClosure(isTidy ? args[0] : callee);
  return (
    closure && (isTidy ? { closure, thisValue: undefined, args: [] } : { closure, thisValue, args })
  );
}

/** Returns the closure to continue in as bytecode: user functions and modules, but not the tensor API. */
function enteredClosure(callee: unknown): Closure | undefined {
  const closure = closureOf(callee);
  if (closure) return closure.code.isAsync || closure.code.isGenerator ? undefined : closure;
  if (typeof callee !== 'function' || isTensorFunction(callee)) return undefined;
  const found = codeOf(callee);
  if (isRefused(found) || found.boundThis || found.boundArgs.length > 0) return undefined;
  const { isAsync, isGenerator, source } = found.closure.code;
  if (isAsync || isGenerator) return undefined;
  const { file } = source;
  return isFrameworkFile(file) && !isInlinedFrameworkFile(file) ? undefined : found.closure;
}

const makers: ReadonlySet<Opcode> = new Set<Opcode>([
  'newArray',
  'newObject',
  'newCell',
  'parameterCell',
  'objectRest',
  'restArgs',
  'arguments',
]);
/** Instructions that write into their first operand. */
const stores: ReadonlySet<Opcode> = new Set<Opcode>([
  'setProp',
  'setElem',
  'arrayPush',
  'arraySpread',
  'defineProp',
  'objectSpread',
]);
const escapes: ReadonlySet<Opcode> = new Set<Opcode>([
  'storeFree',
  'setPrivate',
  'defineAccessor',
  'setPrototype',
  'class',
  'construct',
  'constructSpread',
  'intrinsic',
]);
const { prototype: list } = Array;
/** Functions that keep none of their arguments when they return: they call others, or check arguments. */
const holdsNothing: ReadonlySet<unknown> = new Set<unknown>([
  ...operandChecks.map(([check]) => check),
  isTensor,
  expectArguments,
  expectOptions,
  tidy,
  noGrad,
  enableGrad,
  deviceGuard,
  list.forEach,
  list.reduce,
  list.some,
  list.every,
]);
const makesList: ReadonlySet<unknown> = new Set([
  Array.from,
  list.map,
  list.filter,
  list.slice,
  list.concat,
  list.flatMap,
]);
const changesList: ReadonlySet<unknown> = new Set([list.push, list.unshift, list.pop, list.shift]);
