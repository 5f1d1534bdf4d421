/** A line search for LBFGS: finds a step that satisfies the strong Wolfe conditions, by PyTorch's algorithm. */

/** The loss at a step along the direction, its slope there, and a payload of the caller. */
export interface Trial<P> {
  readonly step: number;
  readonly loss: number;
  readonly slope: number;
  readonly point: P;
}

interface LineSearch<P> {
  readonly evaluate: (step: number) => Trial<P>;
  /** The trial at step 0. */
  readonly start: Trial<P>;
  readonly first: number;
  /** The largest absolute value of the direction. */
  readonly extent: number;
  readonly toleranceChange: number;
  readonly mostTrials: number;
}

/** The required fraction of the decrease that the slope predicts. */
const sufficient = 1e-4;
/** The fraction of the initial slope that may remain. */
const curvature = 0.9;

/** The minimum, within bounds, of the cubic through two trials with their slopes. */
function cubicMinimum<P>(
  one: Trial<P>,
  two: Trial<P>,
  bounds: readonly [least: number, most: number],
): number {
  const [least, most] = bounds;
  const d1 = one.slope + two.slope - (3 * (one.loss - two.loss)) / (one.step - two.step);
  const square = d1 * d1 - one.slope * two.slope;
  if (!(square >= 0)) return (least + most) / 2;
  const d2 = Math.sqrt(square);
  const [from, to] = one.step <= two.step ? [one, two] : [two, one];
  const part = (to.slope + d2 - d1) / (to.slope - from.slope + 2 * d2);
  const minimum = to.step - (to.step - from.step) * part;
  return Math.min(Math.max(minimum, least), most);
}

/** Returns the best trial, and the number of trials. */
export function strongWolfe<P>(search: LineSearch<P>): { best: Trial<P>; trials: number } {
  const { start, evaluate, mostTrials } = search;
  const rises = (trial: Trial<P>) =>
    trial.loss > start.loss + sufficient * trial.step * start.slope;
  const isFlat = (trial: Trial<P>) => Math.abs(trial.slope) <= -curvature * start.slope;
  let before = start;
  let trial = evaluate(search.first);
  let iteration = 0;
  let bracket: Trial<P>[] = [];
  while (iteration < mostTrials && bracket.length === 0) {
    if (rises(trial) || (iteration > 1 && trial.loss >= before.loss)) bracket = [before, trial];
    else if (isFlat(trial)) return { best: trial, trials: iteration + 1 };
    else if (trial.slope >= 0) bracket = [before, trial];
    else {
      const bounds = [trial.step + 0.01 * (trial.step - before.step), trial.step * 10] as const;
      const next = cubicMinimum(before, trial, bounds);
      before = trial;
      trial = evaluate(next);
      iteration++;
    }
  }
  if (bracket.length === 0) bracket = [start, trial];
  return zoomedIn(search, bracket as [Trial<P>, Trial<P>], iteration, { rises, isFlat });
}

interface Conditions<P> {
  readonly rises: (trial: Trial<P>) => boolean;
  readonly isFlat: (trial: Trial<P>) => boolean;
}

/** Narrows a bracket that contains a step which satisfies the conditions. */
function zoomedIn<P>(
  { evaluate, extent, toleranceChange, mostTrials }: LineSearch<P>,
  bracket: [Trial<P>, Trial<P>],
  trials: number,
  { rises, isFlat }: Conditions<P>,
): { best: Trial<P>; trials: number } {
  let iteration = trials;
  let low = bracket[0].loss <= bracket[1].loss ? 0 : 1;
  let isStuck = false;
  while (iteration < mostTrials) {
    const steps = bracket.map(({ step }) => step);
    const [least, most] = [Math.min(...steps), Math.max(...steps)];
    if ((most - least) * extent < toleranceChange) break;
    let step = cubicMinimum(bracket[0], bracket[1], [least, most]);
    // A step close to a bound twice in a row, or on it, moves into the bracket by a tenth.
    const margin = 0.1 * (most - least);
    if (Math.min(most - step, step - least) < margin) {
      const moves: boolean = isStuck || step >= most || step <= least;
      if (moves) step = most - step < step - least ? most - margin : least + margin;
      isStuck = !moves;
    } else isStuck = false;
    const trial = evaluate(step);
    iteration++;
    const high = 1 - low;
    if (rises(trial) || trial.loss >= bracket[low]!.loss) {
      bracket[high] = trial;
      low = bracket[0].loss <= bracket[1].loss ? 0 : 1;
      continue;
    }
    if (isFlat(trial)) {
      bracket[low] = trial;
      break;
    }
    if (trial.slope * (bracket[high]!.step - bracket[low]!.step) >= 0)
      bracket[high] = bracket[low]!;
    bracket[low] = trial;
  }
  return { best: bracket[low]!, trials: iteration + 1 };
}
