import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { type CheckError, OutOfMemoryError } from '../../runtime/errors/errors.ts';
import { hasControl, type PlannedSubgraph } from '../../runtime/program/plan.ts';
import { Decisions, decided } from '../../runtime/run-program/control/decisions.ts';
import { RunProgramNode } from '../../runtime/run-program/grad-node.ts';
import { Subgraph } from '../../runtime/run-program/run-program.ts';
import type { Scope } from '../../runtime/run-program/scope/scope.ts';
import type {
  PassOutput,
  RequestedGradients,
  TakeSum,
  Target,
} from '../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { CheckCounter } from './check-counter.ts';
import { checkError } from './check-error.ts';
import { referenceOptions } from './culprit.ts';
import { compare, disposeOutcome, type Outcome, outcomeOf } from './outcome.ts';
import { type Reading, readNow } from './reading.ts';
import { runIsolated } from './run-isolated.ts';
import { BackwardCall, nodeOf, Scenario, shownByBackward } from './scenario.ts';
import { type CompiledFrom, sourceOf } from './sources.ts';

/** Beyond this number, paths through control flow are no longer distinguished. */
const mostPaths = 256;

/**
 * A subgraph whose first runs are repeated by the reference: its traced program, op by op in program order, with
 * all passes and memory switches off. Outputs, writes, gradients, `requiresGrad`, layouts and aliasing must agree.
 * For a program with control flow, the first runs of each path are checked; for a backward, those of each set of
 * outputs with a gradient.
 */
class CheckedSubgraph extends Subgraph {
  readonly #source: CompiledFrom;
  readonly #counter: CheckCounter;
  readonly #reference: () => Subgraph;
  readonly #hasControl: boolean;
  /** Whether it runs in calls of the captured function, which throw a difference found. */
  readonly #isCalled: boolean;
  /** Whether the device can't be read synchronously: a difference is thrown by a later call, or by `f.checked()`. */
  readonly #isAsync: boolean;
  /** The number of checked runs, by path. */
  readonly #paths = new Map<string, number>();
  /** The number of checked backwards, by the outputs with a gradient. */
  readonly #backwards = new Map<string, number>();
  /** Whether a backward of an unchecked kind has run: the next run is checked. */
  #owesBackward = false;

  constructor(
    planned: PlannedSubgraph,
    source: CompiledFrom,
    counter: CheckCounter,
    isCalled: boolean,
  ) {
    super(planned);
    this.#isCalled = isCalled;
    this.#source = source;
    this.#counter = counter;
    this.#isAsync = planned.values.some(({ device }) => device.kind === 'gpu');
    this.#hasControl = hasControl(planned.forward.steps);
    let reference: Subgraph | undefined;
    this.#reference = () => {
      reference ??= referenceOf(source);
      return reference;
    };
  }

  override run(inputs: readonly Tensor[], donated = 0, numbers: readonly number[] = []): Tensor[] {
    this.#counter.throwFound();
    const mayCheck = this.#owesBackward || this.#hasControl || this.#isDue('');
    if (!mayCheck) return super.run(inputs, donated, numbers);
    const scenario = ifMemoryAllows(() => new Scenario(inputs, donated, numbers));
    if (!scenario) return super.run(inputs, donated, numbers);
    const noted = noteDecisions();
    let outputs: Tensor[] = [];
    let failure: unknown = null;
    try {
      outputs = scenario.first(() => super.run(inputs, donated, numbers));
    } catch (error) {
      failure = error;
    }
    const path = noted();
    // Running out of memory depends on other allocations.
    const isChecked = !(failure instanceof OutOfMemoryError) && this.#takeRun(path);
    if (isChecked) return this.#checkRun(scenario, { inputs, outputs, failure });
    scenario.dispose();
    if (failure !== null) throw failure;
    return outputs;
  }

  #isDue(path: string): boolean {
    return (this.#paths.get(path) ?? 0) < this.#counter.limit;
  }

  #takeRun(path: string): boolean {
    const isDue = this.#isDue(path) && this.#paths.size < mostPaths;
    if (!isDue && !this.#owesBackward) return false;
    this.#owesBackward = false;
    this.#paths.set(path, (this.#paths.get(path) ?? 0) + 1);
    return true;
  }

  /** Returns the outputs; the reference's outputs if they differ. */
  #checkRun(scenario: Scenario, { inputs, outputs, failure }: FinishedRun): Tensor[] {
    const release = scenario.retain();
    const error = runIsolated(() => {
      const shown = failure === null ? scenario.shown(inputs, outputs) : [];
      const actual = outcomeOf(shown, failure);
      const { outcome: expected, node } = scenario.run(this.#reference());
      const mine = nodeOf(outputs);
      const isKept = node !== null && mine instanceof CheckedNode;
      if (isKept) mine.check = { scenario, expected: node };
      else node?.release();
      const release = isKept ? scenario.retain() : () => {};
      const work = this.#verdict(actual, expected, scenario, null, () => {
        if (isKept) release();
        else scenario.dispose();
      });
      return this.#isAsync ? this.#counter.checkLater(work) : readNow(work);
    });
    this.#counter.runs++;
    try {
      if (error) return this.#leaveToReference(scenario, inputs, outputs, error);
    } finally {
      release();
    }
    if (failure !== null) throw failure;
    return outputs;
  }

  /**
   * Lets the call continue with the reference's results, so that tensors and everything else have the state that it
   * leaves; the call then throws the error. Without an enclosing call, or if the reference throws, the error is thrown
   * here.
   */
  #leaveToReference(
    scenario: Scenario,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    error: CheckError,
  ): Tensor[] {
    for (const output of outputs) output.dispose();
    let expected: Tensor[];
    try {
      expected = scenario.runForUser(this.#reference(), inputs);
    } catch {
      throw error;
    }
    if (this.#isCalled) {
      this.#counter.throwLater(error);
      return expected;
    }
    for (const output of expected) output.dispose();
    throw error;
  }

  /** Compares, and finds the cause of a difference. Disposes the outcomes. */
  *#verdict(
    actual: Outcome,
    expected: Outcome,
    scenario: Scenario,
    call: BackwardCall | null,
    finish: (found: CheckError | null) => void,
  ): Reading<CheckError | null> {
    const difference = isOutOfMemory(expected) ? null : yield* compare(actual, expected);
    const found = difference
      ? yield* checkError(this.#source, scenario, call, expected, difference)
      : null;
    finish(found);
    disposeOutcome(actual);
    disposeOutcome(expected);
    return found;
  }

  /** Whether a backward with these gradients is checked. */
  takeBackward(kind: string, canCheck: boolean): boolean {
    const count = this.#backwards.get(kind) ?? 0;
    if (count >= this.#counter.limit) return false;
    if (!canCheck) {
      this.#owesBackward = true;
      return false;
    }
    this.#backwards.set(kind, count + 1);
    return true;
  }

  checkBackward(
    { scenario, expected: node }: NodeCheck,
    call: BackwardCall,
    actual: Outcome,
  ): void {
    const error = runIsolated(() => {
      const expected = call.apply(node);
      const release = scenario.retain();
      const work = this.#verdict(actual, expected, scenario, call, () => {
        call.dispose();
        release();
      });
      return this.#isAsync ? this.#counter.checkLater(work) : readNow(work);
    });
    this.#counter.backwards++;
    if (error) throw error;
  }

  protected override nodeFor(
    scope: Scope,
    targets: readonly Target[],
    owners: number,
  ): CheckedNode {
    return new CheckedNode(this, scope, targets, owners);
  }

  protected override recordedPart(planned: PlannedSubgraph): Subgraph {
    return checkedSubgraph(planned, this.#counter, false);
  }
}

/** A finished run, with its operands and results. */
interface FinishedRun {
  readonly inputs: readonly Tensor[];
  readonly outputs: Tensor[];
  readonly failure: unknown;
}

/** The reference's run that a node's backward is compared with. */
interface NodeCheck {
  readonly scenario: Scenario;
  readonly expected: RunProgramNode;
}

/** The node of a checked run: the reference's node repeats its backwards. */
class CheckedNode extends RunProgramNode {
  check: NodeCheck | null = null;
  readonly #checked: CheckedSubgraph;

  constructor(subgraph: CheckedSubgraph, scope: Scope, targets: readonly Target[], owners: number) {
    super(subgraph, scope, targets, owners);
    this.#checked = subgraph;
  }

  override apply(
    gradOutputs: readonly (Tensor | null | undefined)[],
    retainGraph: boolean,
    requested: readonly boolean[],
    takeSum: TakeSum,
    passInner: PassOutput | null,
    only: RequestedGradients | null,
  ): (Tensor | null)[] {
    const { check } = this;
    // Gradients of intermediate values of forward are identified by ids that are valid for one plan only.
    const isOfOutputs =
      gradOutputs.length <= this.backward.gradOutputs.length &&
      !this.isTapped &&
      !(passInner && this.isPathObserved(only));
    // Missing gradients are holes in the list.
    const present = Array.from(gradOutputs, (gradient) => (gradient ? 1 : 0)).join('');
    const observed = only ? `${only.targets.map(Number).join('')} ${[...only.outputs]}` : '';
    const kind = `${present} ${retainGraph} ${gradEnabled()} ${observed}`;
    if (!isOfOutputs || !this.#checked.takeBackward(kind, check !== null) || !check) {
      return super.apply(gradOutputs, retainGraph, requested, takeSum, passInner, only);
    }
    const call = ifMemoryAllows(
      () => new BackwardCall(gradOutputs, requested, passInner !== null, only),
    );
    if (!call) return super.apply(gradOutputs, retainGraph, requested, takeSum, passInner, only);
    const gradients = super.apply(
      gradOutputs,
      retainGraph,
      requested,
      (target) => {
        const sum = takeSum(target);
        runIsolated(() => call.noteSum(target, sum));
        return sum;
      },
      passInner &&
        ((index, gradient) => {
          const passed = passInner(index, gradient);
          runIsolated(() => call.notePassed(index, passed));
          return passed;
        }),
      only,
    );
    const actual = runIsolated(() => outcomeOf(shownByBackward(gradients)));
    try {
      this.#checked.checkBackward(check, call, actual);
    } catch (error) {
      for (const gradient of gradients) gradient?.dispose();
      throw error;
    }
    return gradients;
  }

  protected override releaseSaved(): void {
    super.releaseSaved();
    this.check?.expected.release();
    this.check?.scenario.dispose();
    this.check = null;
  }
}

/**
 * Returns the subgraph with its runs checked; unchanged if its source is unknown, or on `meta`, which computes no
 * values.
 */
export function checkedSubgraph(
  planned: PlannedSubgraph,
  counter: CheckCounter,
  isCalled = true,
): Subgraph {
  const source = sourceOf(planned);
  const computesNothing = planned.values.some(({ device }) => device.kind === 'meta');
  if (!source || counter.limit === 0 || computesNothing) return new Subgraph(planned);
  return new CheckedSubgraph(planned, source, counter, isCalled);
}

function referenceOf({ program, requested, compile }: CompiledFrom): Subgraph {
  return new Subgraph(compile(program, requested, referenceOptions, []).planned);
}

/** Makes the copies that a check needs; null if memory doesn't suffice: the run is then not checked. */
function ifMemoryAllows<T>(make: () => T): T | null {
  try {
    return runIsolated(make);
  } catch (error) {
    if (error instanceof OutOfMemoryError) return null;
    throw error;
  }
}

function isOutOfMemory({ error }: Outcome): boolean {
  return error instanceof OutOfMemoryError;
}

/** Records decisions. Returns a function that identifies the path taken since. */
function noteDecisions(): () => string {
  const outer = decided.current;
  const notes = outer ?? new Decisions();
  const before = notes.list.length;
  decided.current = notes;
  return () => {
    decided.current = outer;
    // Loops of two or more iterations count as one path.
    return notes.list
      .slice(before)
      .map((decision) => Math.min(decision, 2))
      .join('');
  };
}
