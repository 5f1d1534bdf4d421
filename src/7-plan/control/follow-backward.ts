import { handedOver } from '../../../runtime/run-program/control/handed-over.ts';
import { resultCount, sumOperand } from '../../../runtime/run-program/control/sum-operands.ts';
import type { ControlSite } from './control-site.ts';
import { followRegionBackward, GradientSums, takePiece, tapeOf } from './follow-region.ts';
import type { Piece } from './run-memory.ts';

export function followCondBackward(site: ControlSite): void {
  const record = tapeOf(site);
  if (!record) return;
  const { step } = site;
  const { op, frees } = step;
  const [tape, ...gradients] = op.inputs;
  const [of, to] = [op.attrs.of as readonly number[], op.attrs.to as readonly number[]];
  const retains = !frees.includes(tape!) || record.owners > 1;
  const moves = handedOver(step).slice(1);
  const sums = new GradientSums(site);
  const results = resultCount(step);
  to.forEach((operand, k) => {
    const place = of.indexOf(sumOperand(step, operand));
    if (place >= 0) sums.startFrom(k, takePiece(site, gradients[place]!, moves[place]!));
  });
  const run = retains ? record.tape.at(-1) : record.tape.pop();
  if (run?.region.backward) {
    followRegionBackward(
      site,
      run,
      retains,
      (result) => {
        const place = of.indexOf(result);
        if (place < 0) return null;
        if (result < results) return takePiece(site, gradients[place]!, moves[place]!);
        const asked = to.indexOf(result - results + 1);
        return asked < 0 ? null : sums.take(asked);
      },
      (operand, gradient) => {
        const place = to.indexOf(operand + 1);
        if (place >= 0) sums.add(place, gradient);
      },
    );
  }
  to.forEach((_, place) => {
    sums.handOut(place);
  });
}

export function followWhileBackward(site: ControlSite): void {
  const record = tapeOf(site);
  if (!record) return;
  const { step, follower } = site;
  const { memory } = follower;
  const { op, frees } = step;
  const [tape, ...gradients] = op.inputs;
  const [of, to] = [op.attrs.of as readonly number[], op.attrs.to as readonly number[]];
  const carried = op.attrs.carried as number;
  const retains = !frees.includes(tape!) || record.owners > 1;
  const moves = handedOver(step).slice(1);
  const sums = new GradientSums(site);
  to.forEach((operand, k) => {
    const place = of.indexOf(sumOperand(step, operand));
    if (place >= 0) sums.startFrom(k, takePiece(site, gradients[place]!, moves[place]!));
  });
  let after: (Piece | null)[] = Array.from({ length: carried }, (_, i) => {
    const place = of.indexOf(i);
    return place < 0 ? null : takePiece(site, gradients[place]!, moves[place]!);
  });
  for (let turn = record.tape.length - 1; turn >= 0; turn--) {
    const run = retains ? record.tape[turn]! : record.tape.pop()!;
    const before: (Piece | null)[] = after.map(() => null);
    followRegionBackward(
      site,
      run,
      retains,
      (result) => {
        if (result >= carried) {
          const operand = result - carried;
          const place = operand < carried && turn > 0 ? -1 : to.indexOf(operand);
          return place < 0 ? null : sums.take(place);
        }
        const gradient = after[result] ?? null;
        after[result] = null;
        return gradient;
      },
      (operand, gradient) => {
        if (operand < carried) {
          before[operand] = memory.share(gradient);
          return;
        }
        const place = to.indexOf(operand);
        if (place >= 0) sums.add(place, gradient);
      },
    );
    for (const piece of after) if (piece) memory.drop(piece);
    after = before;
  }
  to.forEach((operand, place) => {
    const gradient = after[operand];
    if (gradient) sums.add(place, gradient);
    sums.handOut(place);
  });
  for (const piece of after) if (piece) memory.drop(piece);
}
