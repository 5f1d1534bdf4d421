import { gradEnabled } from '../../../runtime/autograd/grad-mode.ts';
import { currentDevice, hasMoreDevices } from '../../../runtime/device/current.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { invariant } from '../../../runtime/errors/invariant.ts';
import type { UserPosition } from '../../../runtime/errors/position.ts';
import { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Guard } from '../../guards/guard.ts';
import type { NumberHistory } from '../../guards/number-history.ts';
import type { ShapeBounds } from '../../guards/shape-bounds.ts';
import type { Source } from '../../guards/source.ts';
import type { ChangingFacts } from '../../traces/changing-facts.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import type { OpSites } from '../../traces/op-sites.ts';
import type { Code, SourceText } from '../../vm/bytecode/code.ts';
import type { Frame } from '../../vm/bytecode/frame.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import { OwnMap } from '../../vm/language/primordials.ts';
import type { PrivateSlot } from '../../vm/language/private-slot.ts';
import { EffectLog } from '../effects/effects.ts';
import { Journal } from '../effects/journal.ts';
import type { RandomStream } from '../effects/random-stream.ts';
import type { WrittenEntries } from '../effects/written-entries.ts';
import { CalledNumbers } from '../inputs/called-numbers.ts';
import { InheritedProperties } from '../inputs/inherited.ts';
import type { ElementPath, OuterTensors } from '../inputs/outer-tensors.ts';
import { OuterVariables } from '../inputs/outer-variables.ts';
import type { RowWatch } from '../inputs/row-watch.ts';
import { numberFor, ProgramNumbers, Sizes, sizeIn } from '../inputs/sizes.ts';
import type { TensorInput } from '../inputs/trace-input.ts';
import type { CodeOf } from '../variables/code-of.ts';
import type { MadePrivateName } from '../variables/function-variables.ts';
import { enteredFrame, type TraceFrame } from '../variables/trace-frame.ts';
import type {
  ConstantVariable,
  NewObjectVariable,
  TensorVariable,
  Variable,
} from '../variables/variable.ts';
import { appendOps, errorOf, guardOpDevice } from './append-ops.ts';
import { AutogradState } from './autograd-state.ts';
import { type EnclosingProgram, NestedProgram } from './enclosing-program.ts';
import { Raised } from './exceptions.ts';
import { type Execution, notBegun } from './execution.ts';
import type { GraphControl } from './graph-control.ts';
import { lineIn, positionIn } from './position.ts';
import type { RegionBuilder } from './region-builder.ts';
import { factsRollback, rollback } from './rollback.ts';
import { type OperandResolver, type Perform, resolve, type TapeCall } from './tape.ts';
import { type Reads, TensorInputs } from './tensor-inputs.ts';
import { expectDepth, expectNesting, tooLong } from './trace-limits.ts';

/** A private field that was written, with the path and the access of the first write. */
interface WrittenField {
  readonly slot: PrivateSlot;
  readonly source: Source;
}

/**
 * The state of one trace: frames of variables, the program under construction, and the guards and inputs found so far.
 * Instruction handlers read and write it; it doesn't depend on individual instructions.
 */
export class Tracer {
  readonly frames: TraceFrame[];
  readonly control: GraphControl;
  readonly #places: NestedProgram;
  readonly guards = new Map<string, Guard>();
  /** Changes to make after the run. */
  readonly effects: EffectLog;
  readonly collections = new OwnMap<object, WrittenEntries>();
  /** Symbols created in the trace; each run creates its own. */
  readonly symbols = new OwnMap<symbol, ConstantVariable>();
  /** Prototypes of classes created in the trace, with the classes' code. */
  readonly classes = new OwnMap<NewObjectVariable, Code>();
  /** The private names that these classes declare, by element key. */
  readonly privateNames = new OwnMap<symbol, MadePrivateName>();
  /** Private fields that were written, by object. */
  readonly writtenFields = new OwnMap<object, readonly WrittenField[]>();
  /** Values whose memory belongs to the `.grad` of a tensor. */
  readonly gradients = new Set<ValueId>();
  readonly #inputs: TensorInputs;
  readonly autograd = new AutogradState();
  readonly sizes = new Sizes();
  /** JavaScript numbers used in op attributes. */
  readonly numbers: ProgramNumbers;
  readonly random: RandomStream;
  readonly called = new CalledNumbers();
  /** The number of promises created so far. */
  promises = 0;
  /** The tensor API calls. */
  readonly tape: TapeCall[] = [];
  /** Closures of functions that are guarded by their code, with the functions' sources. */
  readonly passed = new OwnMap<object, Source>();
  readonly inherited = new InheritedProperties();
  readonly variables: OuterVariables;
  readonly changing: ChangingFacts;
  readonly entryFrames: readonly Frame[];
  #instructions = 0;
  readonly #traceLimit: number;
  readonly journal = new Journal();
  /** The source texts of the traced functions. */
  readonly sources = new Set<SourceText>();
  /** Whether user code catches the error of a kernel that may reject its values. */
  catchesRejection = false;
  /** Frames below this depth wait for a nested execution: no exception may continue in them. */
  floor = 0;
  execution: Execution = notBegun;
  #nested = 0;
  /** The elements of an array for all of which code is traced once. */
  rows: RowWatch | null = null;
  /** Called with each instruction before it is executed. */
  onInstruction: ((code: Code, pc: Pc) => void) | undefined;

  /** True if numbers from a graph break are computed natively instead of being guarded by value. */
  readonly numbersAreVolatile: boolean;
  /** Size bounds that every call has been checked against. */
  readonly bounds: ShapeBounds;
  readonly codeOf: CodeOf;
  readonly sites: OpSites;

  constructor(
    entryFrames: readonly Frame[],
    codeOf: CodeOf,
    {
      numbersAreVolatile,
      history,
      control,
      traceLimit,
      randomStream,
      sites,
      changing,
    }: {
      numbersAreVolatile: boolean;
      history: NumberHistory;
      control: GraphControl;
      traceLimit: number;
      randomStream: (tracer: Tracer) => RandomStream;
      sites: OpSites;
      changing: ChangingFacts;
    },
  ) {
    this.codeOf = codeOf;
    this.sites = sites;
    this.#traceLimit = traceLimit;
    this.entryFrames = entryFrames;
    this.effects = new EffectLog(this.journal);
    this.numbersAreVolatile = numbersAreVolatile;
    this.variables = new OuterVariables(history, changing);
    this.changing = changing;
    this.bounds = history.bounds;
    this.numbers = new ProgramNumbers(entryFrames, this.sizes, (read) => sizeIn(read.tensor, read));
    const root = {
      builder: new ProgramBuilder((tensor) => this.#foreign(tensor)),
      capture: (tensor: Tensor) => this.#foreign(tensor),
      outside: () => [],
      tape: this.tape,
    };
    this.#places = new NestedProgram(root);
    this.#inputs = new TensorInputs(this, root.builder, history);
    this.control = control;
    this.random = randomStream(this);
    this.guard('grad', { kind: 'gradMode', enabled: gradEnabled() });
    if (hasMoreDevices()) guardOpDevice(this);
    for (const { closure } of entryFrames) this.sources.add(closure.code.source);
    this.frames = entryFrames.map((frame, index) =>
      enteredFrame(frame, index, (source, value) => this.read(source, value)),
    );
  }

  /** The program that ops are appended to: the region's program while a branch or loop body is being traced. */
  get builder(): ProgramBuilder {
    return this.#places.current.builder;
  }

  get surroundings(): EnclosingProgram {
    return this.#places.current;
  }

  /** True while a branch or loop body is being traced. */
  get isInRegion(): boolean {
    return this.#places.isNested;
  }

  /** Runs `body` so that ops are appended to the region. */
  inRegion<T>(region: RegionBuilder, body: () => T): T {
    return this.#places.within(region, body);
  }

  /** Runs `body` so that ops are appended to the outermost program, before the traced code. */
  inRoot<T>(body: () => T): T {
    return this.#places.within(this.#places.root, body);
  }

  /** Traces one of several paths inside a region; its changes to traced objects are rolled back. */
  speculate<T>(region: RegionBuilder, body: () => T): T {
    const { floor } = this;
    const mark = this.journal.open();
    try {
      return this.inRegion(region, body);
    } finally {
      region.rollBackWrites();
      this.journal.undo(mark);
      this.journal.close();
      this.floor = floor;
      this.#inputs.keep();
    }
  }

  /** In the order of the program's inputs. */
  get inputs(): readonly TensorInput[] {
    return this.#inputs.list;
  }

  /** The arrays whose tensors are all inputs. */
  get lists(): readonly OuterTensors[] {
    return this.#inputs.lists;
  }

  get top(): TraceFrame {
    return this.frames[this.frames.length - 1]!;
  }

  /** Runs `body`. A graph break rolls back all its changes except guards, which hold in any case. */
  attempt<T>(body: () => T): T {
    const rollBack = rollback(this, this.#inputs);
    const { floor } = this;
    const mark = this.journal.open();
    try {
      return body();
    } catch (error) {
      if (error instanceof Raised && error.keepsEffects) throw error;
      if (error instanceof GraphBreak) error.at ??= this.position();
      this.journal.undo(mark);
      rollBack();
      throw error;
    } finally {
      this.floor = floor;
      this.journal.close();
    }
  }

  /** Like `attempt`, but also rolls back guards: the code is then traced in another way. */
  tentatively<T>(body: () => T): T {
    const rollBack = factsRollback(this);
    try {
      return this.attempt(body);
    } catch (error) {
      if (!(error instanceof Raised && error.keepsEffects)) rollBack();
      throw error;
    }
  }

  /** Counts an instruction against the trace limit. */
  tick(): void {
    if (++this.#instructions > this.#traceLimit) throw tooLong(this, this.#traceLimit);
  }

  /** Runs `body`, which traces frames from inside an instruction. */
  nested<T>(body: () => T): T {
    expectNesting(this.#nested, this.control);
    this.#nested++;
    try {
      return body();
    } finally {
      this.#nested--;
    }
  }

  push(frame: TraceFrame): void {
    expectDepth(this.frames.length);
    this.frames.push(frame);
    this.sources.add(frame.closure.code.source);
  }

  guard(key: string, guard: Guard): void {
    if (!this.guards.has(key)) this.guards.set(key, guard);
  }

  /** Returns the variable for a value read from a source. Reading a source twice returns the same variable. */
  read(source: Source, value: unknown, changes = false): Variable {
    return this.variables.read(source, value, changes);
  }

  /** Returns the graph value; an outer tensor becomes an input with a guard on its meta. */
  use(variable: TensorVariable, reads: Reads = 'data'): Tensor {
    return this.#inputs.use(variable, reads);
  }

  /**
   * Makes the tensors at a path in the elements of a pre-existing array inputs, independently of their number, if
   * possible.
   */
  useAll(source: Source, tensors: readonly Tensor[], at: ElementPath): OuterTensors | undefined {
    return this.#inputs.useAll(source, tensors, at);
  }

  /** Makes a tensor represent another graph value from here on. */
  replace(variable: TensorVariable, next: Tensor): void {
    this.#inputs.replace(variable, next);
  }

  /** Returns the input value of an outer tensor. */
  inputOf(variable: TensorVariable): Tensor {
    return this.#inputs.of(variable);
  }

  /** Returns the variable for an op result, which may be one of the op's operands. */
  result(tensor: Tensor): TensorVariable {
    return this.#inputs.result(tensor);
  }

  /** Resolves the operands of calls in the program under construction. */
  get resolver(): OperandResolver {
    return {
      tensor: (tensor) => tensor,
      number: (expr) => numberFor(this.numbers, this.sizes, this.rows?.number(expr) ?? expr),
      tensors: ({ recorded }) => recorded,
    };
  }

  /**
   * Runs a function of the tensor API so that either all of its ops are appended or none. Its decisions must
   * follow from its operands, because it is run again for other sizes.
   */
  perform<T>(operands: readonly unknown[], perform: Perform): T {
    const { resolver } = this;
    const values = operands.map((operand) => resolve(operand, resolver));
    const { tape } = this.#places.current;
    const { length } = tape;
    const result = this.append(() => perform(values, this.builder));
    invariant(
      tape.length === length || this.sizes.fixed,
      'a recorded call records another one, which would be repeated twice',
    );
    this.record(operands, perform, result);
    return result as T;
  }

  /** Runs `body`, also again for other sizes, so it may depend only on shapes of scalars. */
  runApi<T>(body: () => T): T {
    return this.perform([], body);
  }

  /** Runs `body` without recording it: the trace is then valid for its own sizes only. */
  runOnce<T>(body: () => T): T {
    this.sizes.fixed = true;
    return this.append(body);
  }

  /** Records how to repeat the appended ops for other sizes. */
  record(operands: readonly unknown[], perform: Perform, result: unknown): void {
    const { gradMode, guard } = this.top;
    const { tape, builder } = this.#places.current;
    const { at, checkpointed: checkpoint } = builder;
    tape.push({ operands, perform, result, gradMode, guard, checkpoint, at });
  }

  /** Runs `body` so that the ops it binds are appended to the program, or none if it throws. */
  append<T>(body: () => T): T {
    return appendOps(this, body);
  }

  /** Returns the error that a function of the tensor API would throw, or undefined. Appends nothing. */
  tried(body: () => unknown): unknown {
    return errorOf(this, body);
  }

  /** The device of ops without inputs. */
  get device(): Device {
    this.guardDevice();
    return this.currentDevice;
  }

  /** The device of ops without inputs; reading it doesn't add a guard. */
  get currentDevice(): Device {
    return this.top.guard ?? currentDevice();
  }

  /** Guards the current device, unless the traced code itself sets the device of ops without inputs. */
  guardDevice(): void {
    if (this.top.guard) return;
    this.guard('device', { kind: 'device', device: currentDevice() });
  }

  /** Returns the line of a user's file, if it contains the code of one of the frames. */
  lineAt(position: UserPosition): string | undefined {
    return lineIn(this.frames, position);
  }

  position(): UserPosition | undefined {
    return positionIn(this.frames);
  }

  /** Returns the value for a tensor with data that an op uses without a variable: it becomes a constant input. */
  #foreign(tensor: Tensor): Tensor {
    const source: Source = { kind: 'held', value: tensor, name: 'a tensor of the framework' };
    return this.use(this.read(source, tensor) as TensorVariable);
  }
}
