import { gradEnabled } from '../../runtime/autograd/grad-mode.ts';
import { type CheckError, OutOfMemoryError } from '../../runtime/errors/errors.ts';
import type { PlannedSubgraph } from '../../runtime/program/plan.ts';
import { Decisions, decided } from '../../runtime/run-program/control/decisions.ts';
import { RunProgramNode } from '../../runtime/run-program/grad-node.ts';
import { Subgraph } from '../../runtime/run-program/run-program.ts';
import type { Scope } from '../../runtime/run-program/scope/scope.ts';
import type { PassOutput, TakeSum, Target, Wanted } from '../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { CheckCounter } from './check-counter.ts';
import { checkError } from './check-error.ts';
import { referenceOptions } from './culprit.ts';
import { Images } from './images.ts';
import { compare, disposeOutcome, type Outcome, outcomeOf } from './outcome.ts';
import { type Reading, readNow } from './reading.ts';
import { runApart } from './run-apart.ts';
import { BackwardCall, nodeOf, Scenario, shownByBackward } from './scenario.ts';
import { type CompiledFrom, sourceOf } from './sources.ts';

/** Paths through control flow beyond this number are not told apart any more. */
const mostPaths = 256;

/**
 * A subgraph whose first runs are repeated by the reference: its traced program, op by op in program order,
 * with no pass and no memory switch on. Outputs, writes, gradients, `requiresGrad`, layouts and shared memory
 * must agree. Of a program with control flow the first runs of each path are checked, of a backward those of
 * each set of outputs with a gradient.
 */
class CheckedSubgraph extends Subgraph {
  readonly #source: CompiledFrom;
  readonly #counter: CheckCounter;
  readonly #reference: () => Subgraph;
  readonly #hasControl: boolean;
  /** The device can't be read synchronously: a difference is thrown by a later call, or by `f.checked()`. */
  readonly #isAsync: boolean;
  /** Checked runs, by path. */
  readonly #paths = new Map<string, number>();
  /** Checked backwards, by the outputs with a gradient. */
  readonly #backwards = new Map<string, number>();
  /** A backward of a kind that was not checked has run: the next run is. */
  #owesBackward = false;

  constructor(planned: PlannedSubgraph, source: CompiledFrom, counter: CheckCounter) {
    super(planned);
    this.#source = source;
    this.#counter = counter;
    this.#isAsync = planned.values.some(({ device }) => device.kind === 'gpu');
    this.#hasControl = planned.forward.steps.some(({ op }) => op.op.kernel.kind === 'control');
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
    const scenario = whereMemoryIs(() => new Scenario(inputs, donated, numbers));
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
    // Running out of memory depends on what else is in it.
    const isChecked = !(failure instanceof OutOfMemoryError) && this.#takeRun(path);
    if (isChecked) this.#checkRun(scenario, { inputs, outputs, failure });
    else scenario.dispose();
    if (failure !== null) throw failure;
    return outputs;
  }

  #isDue(path: string): boolean {
    return (this.#paths.get(path) ?? 0) < this.#counter.wanted;
  }

  #takeRun(path: string): boolean {
    const isDue = this.#isDue(path) && this.#paths.size < mostPaths;
    if (!isDue && !this.#owesBackward) return false;
    this.#owesBackward = false;
    this.#paths.set(path, (this.#paths.get(path) ?? 0) + 1);
    return true;
  }

  #checkRun(scenario: Scenario, { inputs, outputs, failure }: Ran): void {
    const error = runApart(() => {
      const shown = failure === null ? scenario.shown(inputs, outputs) : [];
      const actual = outcomeOf(shown, failure);
      const { outcome: expected, node } = scenario.run(this.#reference());
      const mine = nodeOf(outputs);
      const isKept = node !== null && mine instanceof CheckedNode;
      if (isKept) mine.check = { scenario, expected: node };
      else node?.release();
      const release = isKept ? scenario.retain() : () => {};
      const work = this.#verdict(actual, expected, scenario, null, (found) => {
        if (found && !this.#isAsync) restore(inputs, expected);
        if (isKept) release();
        else scenario.dispose();
      });
      return this.#isAsync ? this.#counter.checkLater(work) : readNow(work);
    });
    this.#counter.runs++;
    if (!error) return;
    for (const output of outputs) output.dispose();
    throw error;
  }

  /** Compares, and finds what makes a difference. Disposes the outcomes. */
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
    if (count >= this.#counter.wanted) return false;
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
    const error = runApart(() => {
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
    return checkedSubgraph(planned, this.#counter);
  }
}

/** A run that has been, with what it was given and what it made. */
interface Ran {
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly failure: unknown;
}

/** The run of the reference that a node's backward is compared with. */
interface NodeCheck {
  readonly scenario: Scenario;
  readonly expected: RunProgramNode;
}

/** The node of a checked run: its backwards are repeated by the reference's node. */
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
    wanted: readonly boolean[],
    takeSum: TakeSum,
    passInner: PassOutput | null,
    only: Wanted | null,
  ): (Tensor | null)[] {
    const { check } = this;
    // Gradients of values in the middle of forward come by the numbers of one plan alone.
    const isOfOutputs =
      gradOutputs.length <= this.backward.gradOutputs.length &&
      !this.isTapped &&
      !(passInner && this.isPathObserved(only));
    // Gradients that are missing are holes of the list.
    const given = Array.from(gradOutputs, (gradient) => (gradient ? 1 : 0)).join('');
    const requested = only ? `${only.targets.map(Number).join('')} ${[...only.outputs]}` : '';
    const kind = `${given} ${retainGraph} ${gradEnabled()} ${requested}`;
    if (!isOfOutputs || !this.#checked.takeBackward(kind, check !== null) || !check) {
      return super.apply(gradOutputs, retainGraph, wanted, takeSum, passInner, only);
    }
    const call = whereMemoryIs(
      () => new BackwardCall(gradOutputs, wanted, passInner !== null, only),
    );
    if (!call) return super.apply(gradOutputs, retainGraph, wanted, takeSum, passInner, only);
    const gradients = super.apply(
      gradOutputs,
      retainGraph,
      wanted,
      (target) => {
        const sum = takeSum(target);
        runApart(() => call.noteSum(target, sum));
        return sum;
      },
      passInner &&
        ((index, gradient) => {
          const passed = passInner(index, gradient);
          runApart(() => call.notePassed(index, passed));
          return passed;
        }),
      only,
    );
    const actual = runApart(() => outcomeOf(shownByBackward(gradients)));
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

/** The subgraph with its runs checked; as it is where its source is not known, or on `meta`, which computes no values. */
export function checkedSubgraph(planned: PlannedSubgraph, counter: CheckCounter): Subgraph {
  const source = sourceOf(planned);
  const computesNothing = planned.values.some(({ device }) => device.kind === 'meta');
  if (!source || counter.wanted === 0 || computesNothing) return new Subgraph(planned);
  return new CheckedSubgraph(planned, source, counter);
}

function referenceOf({ program, wanted, compile }: CompiledFrom): Subgraph {
  return new Subgraph(compile(program, wanted, referenceOptions, []).planned);
}

/** Makes what a check needs in memory of its own; null where there is no memory for it: the run goes unchecked. */
function whereMemoryIs<T>(make: () => T): T | null {
  try {
    return runApart(make);
  } catch (error) {
    if (error instanceof OutOfMemoryError) return null;
    throw error;
  }
}

/** Writes what the reference has left in the inputs into the user's tensors. */
function restore(inputs: readonly Tensor[], { values }: Outcome): void {
  inputs.forEach((input, i) => {
    const value = values[i];
    if (!value || !input.holder) return;
    const images = new Images([value.tensor]);
    images.writeTo([input]);
    images.dispose();
  });
}

function isOutOfMemory({ error }: Outcome): boolean {
  return error instanceof OutOfMemoryError;
}

/** Returns what tells the path that was taken since. */
function noteDecisions(): () => string {
  const outer = decided.current;
  const notes = outer ?? new Decisions();
  const before = notes.list.length;
  decided.current = notes;
  return () => {
    decided.current = outer;
    // Loops of two iterations and more are one path.
    return notes.list
      .slice(before)
      .map((decision) => Math.min(decision, 2))
      .join('');
  };
}
