import { sizeOf } from '../../../spec/shape.ts';
import { input, output, type Stage, scratch } from '../core/kernel-plan.ts';
import { coordinates } from './conv.ts';
import type { NamedPlan } from './named-plan.ts';
import { StageWriter } from './stage-writer.ts';

const isNaNCode = (x: string) => `!(${x}>0.0||${x}<=0.0)`;

/**
 * Sorts by rank: each value counts the values of its row that precede it, then each position searches for the value
 * with its rank. Takes time quadratic in the row's length.
 */
export const sort: NamedPlan = ([x], outs, attrs) => {
  const dim = attrs.dim as number;
  const size = x!.shape[dim]!;
  const inner = sizeOf(x!.shape.slice(dim + 1));
  const outer = sizeOf(x!.shape.slice(0, dim));
  const count = attrs.count as number;

  const ranks = new StageWriter();
  const source = ranks.array(input(0));
  coordinates(ranks, [outer, size, inner], ['o', 'own', 'at']);
  const base = ranks.let(`o*${size * inner}+at`);
  const mine = ranks.let(source.at(`${base}+own*${inner}`));
  const mineNaN = ranks.let(`(${isNaNCode(mine)}?1.0:0.0)`);
  const rank = ranks.let('0.0');
  ranks.loop(size, (k) => {
    const other = ranks.let(source.at(`${base}+${k}*${inner}`));
    const otherNaN = ranks.let(`(${isNaNCode(other)}?1.0:0.0)`);
    // The first nonzero difference decides: NaN or not, then the value, then the position.
    const byNaN = ranks.let(`${otherNaN}-${mineNaN}`);
    const sign = attrs.descending ? '-' : '';
    const larger = ranks.let(`(${other}>${mine}?1.0:0.0)`);
    const smaller = ranks.let(`(${other}<${mine}?1.0:0.0)`);
    const byValue = ranks.let(`${larger}-${smaller}+${byNaN}*2.0`);
    const earlier = ranks.let(`(${k}<own?1.0:0.0)`);
    ranks.line(`if(${sign}${byValue}<0.0){${rank}=${rank}+1.0;}`);
    ranks.line(`if(${byValue}===0.0){${rank}=${rank}+${earlier};}`);
  });

  const search = (which: 0 | 1): Stage => {
    const w = new StageWriter();
    const ranked = w.array(scratch(0));
    const values = which === 0 ? w.array(input(0)) : null;
    coordinates(w, [outer, count, inner], ['o', 'own', 'at']);
    const row = w.let(`o*${size * inner}+at`);
    const place = w.let('0.0');
    w.loop(size, (k) => {
      w.line(`if(${ranked.at(`${row}+${k}*${inner}`)}===own){${place}=${k};}`);
    });
    return w.into(
      output(which),
      outs[which]!,
      values ? values.at(`${row}+${place}*${inner}`) : place,
    );
  };
  const total = sizeOf(x!.shape);
  return {
    scratch: [total],
    stages: [ranks.intoScratch(scratch(0), total, rank), search(0), search(1)],
  };
};
