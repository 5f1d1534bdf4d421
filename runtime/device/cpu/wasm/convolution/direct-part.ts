import { panelAAt } from '../../core/scratch.ts';
import { load, op, scratch, store } from '../assembler/code.ts';
import { get, type Local } from '../assembler/function-builder.ts';
import { add, bytes, call, mul } from './conv-code.ts';
import { ConvPart } from './conv-part.ts';
/** For few weight rows: each line of the result is a sum of lines of the slice. */
export class DirectPart extends ConvPart {
  /** Packs row by row, in the order of the patch rows. */
  packWeights(weightTable: Local, count: Local): void {
    const f = this.f;
    const [row, rowsLeft, left, to, table] = f.locals('i32', 5);
    f.set(to, scratch(panelAAt));
    f.set(row, get(this.factors.weight));
    f.set(rowsLeft, get(this.factors.rows));
    f.countDown(rowsLeft, 1, () => {
      f.set(table, get(weightTable));
      f.set(left, get(count));
      f.countDown(left, 1, () => {
        const from = add(get(row), load('i32.load', get(table)));
        f.emit(store('i32.store', get(to), load('i32.load', from)));
        f.add(to, 4);
        f.add(table, 4);
      });
      f.add(row, this.own('laneStep'));
    });
  }

  run(block: {
    readonly base: Local;
    readonly rowTable: Local;
    readonly count: Local;
    readonly outAt: Local;
    readonly line: Local;
  }): void {
    const f = this.f;
    const [rowsLeft, weights, channel, from, to, left] = f.locals('i32', 6);
    f.set(weights, scratch(panelAAt));
    f.set(channel, add(get(block.outAt), mul(get(block.line), this.own('outLine'))));
    f.set(rowsLeft, get(this.factors.rows));
    f.countDown(rowsLeft, 1, () => {
      f.set(from, get(block.base));
      f.set(to, get(channel));
      f.set(left, op('i32.div_u', get(this.factors.columns), this.own('positions')));
      f.countDown(left, 1, () => {
        call(
          ...([f, 'directRow', get(from), get(block.rowTable), get(block.count)] as const),
          ...[get(weights), get(to), this.own('outPosition'), this.own('positions')],
          bytes(this.own('strideW')),
        );
        f.add(from, bytes(mul(this.own('strideH'), this.own('sliceWidth'))));
        f.add(to, this.own('outLine'));
      });
      f.add(weights, bytes(get(block.count)));
      f.add(channel, this.own('outChannel'));
    });
  }
}
