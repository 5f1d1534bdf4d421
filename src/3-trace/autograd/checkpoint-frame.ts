import { checkSame, differs } from '../../../runtime/autograd/checkpoint.ts';
import { noGrad } from '../../../runtime/autograd/grad-mode.ts';
import {
  changedInPlace,
  type Deferred,
  SavedValue,
  withSaveListener,
} from '../../../runtime/autograd/saved-value.ts';
import type { TensorSpec } from '../../../runtime/device/tensor-meta.ts';
import { TostaticError } from '../../../runtime/errors/errors.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { GraphBreak } from '../../traces/graph-break.ts';
import { OwnMap } from '../../vm/language/primordials.ts';
import { BodyReads } from '../inputs/body-reads.ts';
import type { AwaitedWork, Rerun } from '../state/autograd-state.ts';
import { Raised } from '../state/exceptions.ts';
import { RejectedEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import { undefinedVariable, type Variable } from '../variables/variable.ts';
import { alias } from './leaves.ts';
import { doSameWork } from './same-work.ts';

/** For each trace, the call of `checkpoint` whose body is being traced. */
const frames = new WeakMap<Tracer, CheckpointFrame | null>();

export function frameAround(t: Tracer): CheckpointFrame | null {
  return frames.get(t) ?? null;
}

interface CheckpointedCall {
  readonly body: Variable;
  readonly inputs: readonly Variable[];
  /** The enclosing call of `checkpoint`. */
  readonly outer: CheckpointFrame | null;
}

type Input =
  | { readonly saved: SavedValue; readonly requiresGrad: boolean }
  | { readonly constant: Variable };

/**
 * A checkpointed call. Eager backward reruns the body on the current values of its tensors. If the body writes to no
 * pre-existing tensor, its values are the same both times, unless its tensors changed in between: then eager execution
 * throws or computes something else, so the call must run eagerly. Otherwise, backward traces the body again.
 */
export class CheckpointFrame {
  readonly #t: Tracer;
  readonly #call: CheckpointedCall;
  readonly #inputs: readonly Input[];
  readonly #outermost: CheckpointFrame;
  /** Resets the random numbers to those of the first run. */
  readonly #drawAgain: () => void;
  readonly #switches: number;
  readonly #versions: (() => boolean)[];
  /** The specs of the saved values, in order; null for leaves, which nodes keep themselves. */
  readonly #specs: (TensorSpec | null)[] = [];
  /** Whether each value that the body has saved is overwritten: eager backward computes it again. */
  readonly #saved: (() => boolean)[] = [];
  /** The values that the second run of the body saved. */
  #rerun: readonly (SavedValue | null)[] | null = null;
  /** The pre-existing objects that the first run of the body read. */
  readonly #reads = new OwnMap<object, Set<string | symbol>>();
  readonly #places = new BodyReads();
  /** The nodes of the results. */
  #nodes: readonly GradNode[] = [];
  /** Whether the body saved a value that no backward inside the graph has read yet. */
  #isAwaited = false;
  /** Whether backward traces the body again. The outermost call's value applies to the calls inside. */
  #reruns = false;
  /**
   * The ops of the first run, and the number of changes to the traced state when they were last compared with a rerun.
   */
  #done: {
    readonly ops: readonly ProgramOp[];
    readonly in: ProgramBuilder;
    /** The values that the body reads without receiving them as arguments. */
    readonly values: readonly ValueId[];
    changes: number;
  } | null = null;

  constructor(t: Tracer, call: CheckpointedCall) {
    const { inputs, outer } = call;
    this.#t = t;
    this.#call = call;
    this.#outermost = outer ? outer.#outermost : this;
    this.#switches = t.autograd.switches;
    this.#drawAgain = t.random.mark();
    const tensors: Tensor[] = [];
    this.#inputs = inputs.map((input) => {
      if (input.kind !== 'tensor') return { constant: input };
      const tensor = t.use(input);
      tensors.push(tensor);
      return { saved: new SavedValue(tensor, 'value'), requiresGrad: tensor.requiresGrad };
    });
    this.#versions = tensors.flatMap(({ traced }) =>
      traced ? [changeOf(() => traced.version())] : [],
    );
  }

  /** Traces the body for the first time. */
  run(): Variable {
    const { execution, effects, variables } = this.#t;
    const { body, inputs, outer } = this.#call;
    const run = () =>
      this.#within(
        (value) => this.#defer(value),
        () => execution.callInside(body, undefinedVariable, inputs),
      );
    if (outer) return run();
    const noting = () => variables.noteReads(this.#places, run);
    return effects.met.collect(this.#reads, noting);
  }

  /**
   * Called for a body without effects, with the values that it reads without receiving them as arguments: requires that
   * they are unchanged when backward reads what the body saved.
   */
  expectUnchanged(
    values: readonly ValueId[],
    ops: readonly ProgramOp[],
    nodes: readonly GradNode[],
  ): void {
    this.#nodes = nodes;
    const { builder, autograd, journal } = this.#t;
    for (const id of values) this.#versions.push(changeOf(() => builder.memory.versionOf(id)));
    journal.keepList(autograd.checkpoints);
    autograd.checkpoints.push(this);
    this.#done = { ops, in: builder, values, changes: journal.changes };
  }

  /** Called for a body that writes to pre-existing tensors. */
  rerunInBackward(): void {
    this.#reruns = true;
  }

  /** Called at the end of the graph. Throws if a later backward would throw or compute something else. */
  expectAsItWas(): void {
    if (this.#isAwaited && (this.#isStale || this.#isOverwritten)) throw perhaps(changed());
    this.expectSameWork();
  }

  /**
   * Called at the end of a branch or an iteration, whose values exist only there. Throws if a later backward would
   * throw or compute something else because of what the branch or iteration has changed.
   */
  expectAsInRegion(): void {
    if (this.#done?.in === this.#t.builder) this.expectAsItWas();
  }

  awaitedIn(builder: ProgramBuilder): AwaitedWork | null {
    const done = this.#done;
    if (!this.#isAwaited || done?.in !== builder) return null;
    const { values } = done;
    return { roots: [this.#call.body], reads: this.#reads, values, places: this.#places };
  }

  rerun(): Rerun | null {
    if (!this.#isAwaited) return null;
    return { nodes: this.#nodes, reads: this.#reads, places: this.#places };
  }

  /**
   * Throws if a later backward would run the body on other tensors, numbers or functions than the first run, because an
   * object or variable that it reads has changed. Traces the body once more to find out.
   */
  expectSameWork(): void {
    const { journal, builder } = this.#t;
    const done = this.#done;
    // Values of a branch or loop exist only there.
    if (!this.#isAwaited || !done || done.in !== builder || done.changes === journal.changes)
      return;
    const isSame = this.#doesSame(done.ops);
    done.changes = journal.changes;
    if (!isSame) throw perhaps(differs('it reads what has changed since'));
  }

  #doesSame(ops: readonly ProgramOp[]): boolean {
    const t = this.#t;
    let isSame = false;
    try {
      t.attempt(() => {
        const first = t.builder.opCount;
        for (const value of this.#traceAgain()) value?.release();
        isSame = doSameWork(ops, t.builder.opsFrom(first));
        throw new Traced();
      });
    } catch (error) {
      const isOther = error instanceof Traced || error instanceof GraphBreak;
      if (!isOther && !(error instanceof TostaticError) && !(error instanceof Raised)) throw error;
    }
    return isSame;
  }

  /** Defers values that ops of the body save. A leaf is saved and checked separately. */
  #defer(value: Tensor): Deferred | null {
    if (!value.traced) return null;
    if (value.requiresGrad && value.isLeaf) {
      this.#specs.push(null);
      return null;
    }
    const { dtype, shape } = value;
    const index = this.#specs.push({ dtype, shape }) - 1;
    const saved = withSaveListener(null, () => new SavedValue(value, 'value'));
    const outermost = this.#outermost;
    outermost.#isAwaited = true;
    const { traced } = value;
    outermost.#saved.push(changeOf(() => traced.version()));
    return {
      get: () => {
        outermost.#noteRead();
        if (outermost.#reruns) return this.#savedAgain(index);
        if (outermost.#isStale) throw changed();
        if (outermost.#isOverwritten) throw perhaps(changed());
        return saved;
      },
      release: () => saved.release(),
    };
  }

  #noteRead(): void {
    // Branches and loops of the body are differentiated while it runs.
    if (!this.#done) return;
    const isAwaited = this.#isAwaited;
    this.#t.journal.noteInput(() => {
      this.#isAwaited = isAwaited;
    });
    this.#isAwaited = false;
  }

  #savedAgain(index: number): SavedValue {
    if (!this.#rerun) {
      this.#t.journal.note(() => {
        this.#rerun = null;
      });
      this.#rerun = this.#traceAgain();
    }
    return this.#rerun[index]!;
  }

  /** Traces the body again, as eager backward reruns it, and returns the values that it saves. */
  #traceAgain(): (SavedValue | null)[] {
    const t = this.#t;
    const specs = this.#specs;
    const values: (SavedValue | null)[] = [];
    const collect = (value: Tensor): null => {
      if (!value.traced) return null;
      const expected = specs[values.length];
      if (expected === undefined) throw differs(`more than ${values.length} values are saved`);
      if (expected) checkSame(expected, value);
      values.push(expected && withSaveListener(null, () => new SavedValue(value, 'value')));
      return null;
    };
    const goOn = t.random.mark();
    const { builder } = t;
    const { differentiates } = builder;
    builder.differentiates = false;
    this.#drawAgain();
    try {
      this.#within(collect, () => {
        const inputs = this.#inputs.map((input) => this.#inputAgain(input));
        t.execution.callInside(this.#call.body, undefinedVariable, inputs, true);
      });
    } finally {
      goOn();
      builder.differentiates = differentiates;
    }
    if (values.length < specs.length) {
      throw differs(`${values.length} of ${specs.length} values are saved`);
    }
    return values;
  }

  #inputAgain(input: Input): Variable {
    if ('constant' in input) return input.constant;
    const tensor = noGrad(() => input.saved.read('checkpoint', null));
    return this.#t.result(alias(this.#t, tensor, input.requiresGrad ? 'own' : null));
  }

  #within<T>(listener: (value: Tensor) => Deferred | null, body: () => T): T {
    const outer = frameAround(this.#t);
    frames.set(this.#t, this);
    try {
      return withSaveListener(listener, body);
    } finally {
      frames.set(this.#t, outer);
    }
  }

  get #isOverwritten(): boolean {
    return this.#saved.some((isChanged) => isChanged());
  }

  get #isStale(): boolean {
    return (
      this.#t.autograd.switches !== this.#switches ||
      this.#versions.some((isChanged) => isChanged())
    );
  }
}

function changeOf(version: () => number): () => boolean {
  const before = version();
  return () => version() !== before;
}

/** Thrown to roll back a completed attempt. */
class Traced extends Error {}

const changed = () => changedInPlace('checkpoint', 'a tensor that its function reads');

const perhaps = (cause: TostaticError) => new RejectedEagerly(cause, { perhaps: true });
