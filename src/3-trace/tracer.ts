import { gradEnabled, withGradMode } from '../../runtime/autograd/grad-mode.ts';
import { currentDevice } from '../../runtime/device/current.ts';
import type { Device } from '../../runtime/device/device.ts';
import { InvariantError, invariant } from '../../runtime/errors/invariant.ts';
import type { UserPosition } from '../../runtime/errors/position.ts';
import { withPositionProvider } from '../../runtime/errors/position.ts';
import { withInterceptor } from '../../runtime/ops/bind.ts';
import type { OpRecord } from '../../runtime/ops/define-op.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import type { Program, ValueId } from '../../runtime/program/program.ts';
import { withRandomSource } from '../../runtime/random/seed.ts';
import { contiguousStrides } from '../../runtime/tensor/shape.ts';
import { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Code } from '../bytecode/code.ts';
import type { Closure, Frame } from '../bytecode/frame.ts';
import { uninitialized } from '../bytecode/frame.ts';
import type { Pc, Reg } from '../bytecode/instructions.ts';
import type { Loop } from '../bytecode/structure.ts';
import type { Guard } from '../guards/guard.ts';
import type { NumberHistory } from '../guards/number-history.ts';
import { isProxy } from '../guards/plain.ts';
import type { PrivateSlot } from '../guards/private-slot.ts';
import type { Source } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import { GraphBreak } from '../traces/graph-break.ts';
import type { CodeOf } from './code-of.ts';
import type { OuterCollection } from './collections.ts';
import { EffectLog } from './effects.ts';
import { isEquivalent } from './equivalents.ts';
import { isFrameworkFile } from './framework-files.ts';
import type { GraphControl } from './graph-control/graph-control.ts';
import type { PathEnd } from './graph-control/path.ts';
import type { RegionBuilder, Surroundings } from './graph-control/region-builder.ts';
import { Journal } from './journal.ts';
import { RelativeStream } from './random-stream.ts';
import { dimSource, numberFor, ProgramNumbers, Sizes, sizeIn } from './sizes.ts';
import { symbolicFrom } from './symbolic.ts';
import { type Perform, resolve, type Stand, type TapeCall } from './tape.ts';
import {
  type CellReference,
  isPrimitive,
  type TensorVariable,
  tracedTensor,
  type Variable,
} from './variable.ts';

/** One activation as the tracer follows it. */
export interface TraceFrame {
  readonly closure: Omit<Closure, 'cells'>;
  readonly cells: readonly CellReference[];
  /** Number among the frames the trace was entered with; null for an inlined call. */
  readonly entry: number | null;
  readonly thisVariable: Variable;
  readonly args: readonly Variable[];
  readonly registers: (Variable | undefined)[];
  readonly returnTo: Reg | undefined;
  /** Of a call by `new`. */
  readonly newTarget?: Variable;
  /** Inside `noGrad` or `enableGrad`; undefined: what held at the entry. */
  readonly gradMode: boolean | undefined;
  pc: Pc;
}

const notBegun = (): never => {
  throw new InvariantError('the trace has not begun');
};

/** More instructions than this in one trace end the graph: a long loop was unrolled. */
const maxInstructions = 200_000;
const maxDepth = 64;

/**
 * The state of one trace: frames of variables, the program that grows, the guards and inputs found so
 * far. Handlers of instructions read and write it; it knows nothing of single instructions.
 */
export class Tracer {
  readonly frames: TraceFrame[];
  readonly control: GraphControl;
  readonly #root: Surroundings;
  #surroundings: Surroundings;
  readonly guards = new Map<string, Guard>();
  /** What is changed after the run. */
  readonly effects: EffectLog;
  readonly collections = new Map<object, OuterCollection>();
  /** Private fields that were written, by their object. */
  readonly privateSlots = new Map<object, readonly PrivateSlot[]>();
  /** Values whose memory is some tensor's `.grad`. */
  readonly gradients = new Set<ValueId>();
  /** In the order of the program's inputs. */
  readonly inputs: { readonly source: Source; readonly tensor: Tensor; readonly actual: Tensor }[] =
    [];
  readonly sizes = new Sizes();
  /** The host's arithmetic that ends in attributes of ops. */
  readonly numbers: ProgramNumbers;
  readonly random = new RelativeStream(this);
  /** What the tensor API was asked for. */
  readonly tape: TapeCall[] = [];
  readonly #history: NumberHistory;
  readonly #entryFrames: readonly Frame[];
  readonly #bySource = new Map<string, Variable>();
  readonly #byTraced = new Map<Tensor, TensorVariable>();
  /** The user's tensors that are inputs already. */
  readonly #inputOf = new Map<Tensor, TensorVariable>();
  #instructions = 0;
  readonly journal = new Journal();
  /** Frames below this depth wait for a nested execution: no throw goes on in them. */
  floor = 0;
  /** Follows a call to its return, in the middle of an instruction (`invoke.ts`). */
  callInside: (callee: Variable, receiver: Variable, args: readonly Variable[]) => Variable =
    notBegun;
  /** Executes the frames above the given depth until the lowest of them returns. */
  runAbove: (depth: number) => Variable = notBegun;
  /** Follows the frame at the given depth until it returns or comes to one of the stops. */
  runPath: (depth: number, stops: ReadonlySet<Pc>) => PathEnd = notBegun;
  /** Follows one turn of a loop, from its header or from behind its head. */
  runLoopBody: (frame: TraceFrame, loop: Loop, from: Pc) => PathEnd = notBegun;
  /** Follows a loop from its header to the first decision that may leave it. */
  runLoopHead: (frame: TraceFrame, loop: Loop) => PathEnd = notBegun;
  /** Appends an op with programs inside; answers its results. */
  appendControl: (
    op: OpRecord,
    inputs: readonly Tensor[],
    programs: readonly Program[],
  ) => Tensor[] = notBegun;

  /** Told of each instruction before it is executed. */
  onInstruction: ((code: Code, pc: Pc) => void) | undefined;

  /** Numbers that came out of a break are computed natively, not guarded by their value. */
  readonly numbersAreVolatile: boolean;

  readonly codeOf: CodeOf;

  constructor(
    entryFrames: readonly Frame[],
    codeOf: CodeOf,
    {
      numbersAreVolatile,
      history,
      control,
    }: { numbersAreVolatile: boolean; history: NumberHistory; control: GraphControl },
  ) {
    this.codeOf = codeOf;
    this.#entryFrames = entryFrames;
    this.effects = new EffectLog(this.journal);
    this.numbersAreVolatile = numbersAreVolatile;
    this.#history = history;
    this.numbers = new ProgramNumbers(entryFrames, this.sizes, ({ tensor, dim }) =>
      sizeIn(tensor, dim),
    );
    this.#root = {
      builder: new ProgramBuilder((tensor) => this.#foreign(tensor)),
      capture: (tensor) => this.#foreign(tensor),
    };
    this.#surroundings = this.#root;
    this.control = control;
    this.guard('grad', { kind: 'gradMode', enabled: gradEnabled() });
    this.frames = entryFrames.map((frame, index) => this.#entryFrame(frame, index));
  }

  get entryFrames(): readonly Frame[] {
    return this.#entryFrames;
  }

  /** The program that ops are appended to: a region's while a branch or loop body is followed. */
  get builder(): ProgramBuilder {
    return this.#surroundings.builder;
  }

  get surroundings(): Surroundings {
    return this.#surroundings;
  }

  /** Inside `body`, ops are appended to the region. */
  inRegion<T>(region: RegionBuilder, body: () => T): T {
    const outer = this.#surroundings;
    this.#surroundings = region;
    try {
      return body();
    } finally {
      this.#surroundings = outer;
    }
  }

  /** Follows one way of several inside a region; what it did to the objects of the trace is taken back. */
  speculate<T>(region: RegionBuilder, body: () => T): T {
    const { floor } = this;
    const { drawn } = this.random;
    const mark = this.journal.open();
    try {
      const result = this.inRegion(region, body);
      if (this.random.drawn !== drawn) {
        throw new GraphBreak('control-flow', 'random numbers are drawn in a branch or loop');
      }
      return result;
    } finally {
      this.journal.undo(mark);
      this.journal.close();
      this.floor = floor;
      this.#keepInputs();
    }
  }

  /** Inputs that were found on a way stay, though what it did is taken back. */
  #keepInputs(): void {
    for (const { tensor } of this.inputs) {
      const variable = this.#byTraced.get(tensor)!;
      variable.traced = tensor;
      this.#inputOf.set(variable.actual!, variable);
    }
  }

  get top(): TraceFrame {
    return this.frames[this.frames.length - 1]!;
  }

  /**
   * Runs `body` so that a break takes back whatever it has done: to the program, the log of effects and
   * the objects that the trace has made. Guards stay; they are true anyway.
   */
  attempt<T>(body: () => T): T {
    const frames = [...this.frames];
    const pcs = frames.map(({ pc }) => pc);
    const [program, inputs, { floor }] = [this.builder.checkpoint(), this.inputs.length, this];
    const calls = this.tape.length;
    const mark = this.journal.open();
    try {
      return body();
    } catch (error) {
      if (error instanceof GraphBreak) error.at ??= this.position();
      this.journal.undo(mark);
      this.builder.rollback(program);
      this.tape.length = calls;
      if (this.#surroundings === this.#root) this.inputs.length = inputs;
      else this.#keepInputs();
      this.frames.splice(0, this.frames.length, ...frames);
      for (const [i, frame] of frames.entries()) frame.pc = pcs[i]!;
      throw error;
    } finally {
      this.floor = floor;
      this.journal.close();
    }
  }

  /** Counts an instruction; ends a trace that grows without bound. */
  tick(): void {
    if (++this.#instructions > maxInstructions) {
      throw new GraphBreak('trace-length', `more than ${maxInstructions} instructions`);
    }
  }

  push(frame: TraceFrame): void {
    if (this.frames.length >= maxDepth) {
      throw new GraphBreak('call-depth', `more than ${maxDepth} calls`);
    }
    this.frames.push(frame);
  }

  guard(key: string, guard: Guard): void {
    if (!this.guards.has(key)) this.guards.set(key, guard);
  }

  /** The variable for a value read from a source; reading the same place twice gives the same one. */
  read(source: Source, value: unknown): Variable {
    const key = sourceKey(source);
    const existing = this.#bySource.get(key);
    if (existing) return existing;
    const variable = this.#variableFor(source, value);
    this.#bySource.set(key, variable);
    return variable;
  }

  /** The value in the program; an outer tensor becomes an input with a guard on its meta. */
  use(variable: TensorVariable): Tensor {
    const { actual, source, traced: made } = variable;
    if (this.effects.disposed.has((actual ?? made)!)) {
      throw new GraphBreak('op-error', 'a disposed tensor is used');
    }
    if (made) return made;
    invariant(actual && source, 'a tensor is traced or has a source');
    if (!actual.holder) {
      throw new GraphBreak('op-error', 'a disposed tensor is used');
    }
    const known = this.#inputOf.get(actual);
    if (known) {
      // One tensor is one input, so that its gradient is summed as eager execution sums it.
      const key = `same ${sourceKey(source)} ${sourceKey(known.source!)}`;
      this.guard(key, { kind: 'same', source, other: known.source!, same: true });
      this.journal.note(() => {
        variable.traced = null;
      });
      variable.traced = known.traced;
      return known.traced!;
    }
    const { dtype, shape, device, requiresGrad, isContiguous } = actual;
    const strides = isContiguous ? null : actual.strides;
    const guard = { source, dtype, shape, strides, device, requiresGrad } as const;
    this.guard(`tensor ${sourceKey(source)}`, { kind: 'tensor', ...guard });
    const meta = { dtype, shape, strides: strides ?? contiguousStrides(shape), offset: 0, device };
    const traced = this.#root.builder.input(meta).requiresGrad_(requiresGrad);
    this.inputs.push({ source, tensor: traced, actual });
    this.journal.note(() => {
      variable.traced = null;
      this.#inputOf.delete(actual);
    });
    if (isContiguous) this.#findSizes(source, traced);
    variable.traced = traced;
    this.#byTraced.set(traced, variable);
    this.#inputOf.set(actual, variable);
    return traced;
  }

  /** Dimensions that had other sizes before are symbolic, for contiguous tensors. */
  #findSizes(source: Source, tensor: Tensor): void {
    const dims = tensor.shape.flatMap((size, dim) => {
      const place = dimSource(source, dim);
      return this.#history.isSymbolic(sourceKey(place), size) ? [dim] : [];
    });
    if (dims.length === 0) return;
    this.sizes.dims.set(tensor, new Set(dims));
    for (const dim of dims) this.sizes.addKey(dimSource(source, dim));
  }

  /** The variable for a result of an op; an op may return one of its operands. */
  result(tensor: Tensor): TensorVariable {
    const existing = this.#byTraced.get(tensor);
    if (existing) return existing;
    const variable = tracedTensor(tensor);
    this.#byTraced.set(tensor, variable);
    return variable;
  }

  /**
   * Runs a function of the tensor API so that its ops are appended, all or nothing. What it decides must
   * follow from its operands: it is done again for other sizes.
   */
  perform<T>(operands: readonly unknown[], perform: Perform): T {
    const stand: Stand = {
      tensor: (tensor) => tensor,
      number: (expr) => numberFor(this.numbers, this.sizes, expr),
    };
    const given = operands.map((operand) => resolve(operand, stand));
    const { gradMode } = this.top;
    const result = this.#append(() => perform(given, this.builder));
    this.tape.push({ operands, perform, result, gradMode, at: this.builder.at });
    return result as T;
  }

  /** The same for what is not done again: the sizes of this trace are as they are. */
  runApi<T>(body: () => T): T {
    this.sizes.fixed = true;
    return this.#append(body);
  }

  #append<T>(body: () => T): T {
    const checkpoint = this.builder.checkpoint();
    this.builder.at = this.position();
    try {
      return withPositionProvider(
        () => this.builder.at,
        () =>
          withInterceptor(this.builder, () =>
            withRandomSource(this.random, () => withGradMode(this.top.gradMode, body)),
          ),
      );
    } catch (error) {
      this.builder.rollback(checkpoint);
      throw error;
    }
  }

  /** Where ops without inputs are made. */
  get device(): Device {
    this.guardDevice();
    return currentDevice();
  }

  /** Ops without inputs are made on the current device. */
  guardDevice(): void {
    this.guard('device', { kind: 'device', device: currentDevice() });
  }

  /** The line of a user's file that some frame's code is in. */
  lineAt({ file, line }: UserPosition): string | undefined {
    for (const { closure } of this.frames) {
      const text = closure.code.source.line(file, line);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  /** The place in the user's own files, not in the modules of this package that were inlined. */
  position(): UserPosition | undefined {
    for (let i = this.frames.length - 1; i >= 0; i--) {
      const { closure, pc } = this.frames[i]!;
      const { source, spans } = closure.code;
      // A caller's pc is already past its call.
      const span = spans[i === this.frames.length - 1 ? pc : pc - 1];
      if (span && !isEquivalent(closure.code) && !isFrameworkFile(source.file)) {
        return source.position(span.start);
      }
    }
    return undefined;
  }

  #variableFor(source: Source, value: unknown): Variable {
    if (value === uninitialized) return { kind: 'uninitialized', source };
    if (typeof value === 'number') return this.#numberFrom(source, value);
    if (isPrimitive(value)) return { kind: 'constant', value, source };
    if (typeof value === 'function') {
      return { kind: 'function', value: value as (...args: never[]) => unknown, source };
    }
    if (!isProxy(value) && value instanceof Tensor) {
      return { kind: 'tensor', source, actual: value, traced: null, shape: null };
    }
    return { kind: 'object', value: value as object, source };
  }

  /** What came out of a break differs from run to run; for other numbers history tells. */
  #numberFrom(source: Source, value: number): Variable {
    const symbolic =
      source.kind === 'register' || this.#history.isSymbolic(sourceKey(source), value);
    return symbolic ? symbolicFrom(source, value) : { kind: 'constant', value, source };
  }

  #entryFrame(frame: Frame, entry: number): TraceFrame {
    const { closure, pc, registers, returnTo, gradMode } = frame;
    const source = (reg: number): Source => ({ kind: 'register', frame: entry, reg: reg as Reg });
    return {
      closure,
      cells: closure.cells.map((value, index) => ({
        kind: 'object',
        value,
        source: { kind: 'outerCell', frame: entry, index },
      })),
      entry,
      thisVariable: this.read({ kind: 'this', frame: entry }, frame.thisValue),
      args: frame.args.map((value, index) =>
        this.read({ kind: 'argument', frame: entry, index }, value),
      ),
      registers:
        pc === 0 ? new Array(registers.length) : registers.map((v, r) => this.read(source(r), v)),
      returnTo,
      gradMode,
      pc,
    };
  }

  /** A tensor with data met traced ones without coming through a variable: held by the program. */
  #foreign(tensor: Tensor): Tensor {
    const source: Source = { kind: 'held', value: tensor, name: 'a tensor of the framework' };
    return this.use(this.read(source, tensor) as TensorVariable);
  }
}
