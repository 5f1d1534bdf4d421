import { acrossLanes, type Code, f32x4, i32, load, op } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { compileWhenRead, lazily } from './assembler/module-builder.ts';
import { emitExp, emitLog } from './assembler/transcendental.ts';
import { along } from './runs-of-four.ts';

/** One row of each operand: (first, second, out, rows, length). One-input kernels ignore `second`. */
class RowWriter {
  readonly first: Local;
  readonly second: Local;
  readonly out: Local;
  readonly #f: FunctionBuilder;
  readonly #rows: Local;
  readonly #length: Local;

  constructor(f: FunctionBuilder) {
    this.#f = f;
    [this.first, this.second, this.out, this.#rows, this.#length] = f.params(5);
  }

  forEachRow(body: () => void): void {
    const f = this.#f;
    f.countDown(this.#rows, 1, () => {
      body();
      const bytes = op('i32.shl', get(this.#length), i32(2));
      for (const operand of [this.first, this.second, this.out]) f.add(operand, bytes);
    });
  }

  /** Iterates over the row; `body` returns what to store, if anything. `masked` clears lanes that repeat an element. */
  pass(
    reads: readonly Local[],
    body: (values: readonly Code[], masked: (value: Code) => Code) => Code | null,
  ): void {
    const f = this.#f;
    const cursors = reads.map((read) => f.local('i32', get(read)));
    const to = f.local('i32', get(this.out));
    const left = f.local('i32', get(this.#length));
    along(f, left, cursors, to, ({ values, once }) => body(values, once));
  }

  /** The sum over the row, in every lane. */
  sum(reads: readonly Local[], term: (values: readonly Code[]) => Code): Local {
    const f = this.#f;
    const sum = f.local('v128', f32x4(0));
    this.pass(reads, (values, masked) => {
      f.set(sum, op('f32x4.add', get(sum), masked(term(values))));
      return null;
    });
    f.set(
      sum,
      acrossLanes((a, b) => op('f32x4.add', a, b), get(sum)),
    );
    return sum;
  }

  /** The maximum of the row, in every lane. */
  max(): Local {
    const f = this.#f;
    const larger = (a: Code, b: Code) => op('f32x4.max', a, b);
    const max = f.local('v128', f32x4(Number.NEGATIVE_INFINITY));
    const from = f.local('i32', get(this.first));
    const left = f.local('i32', get(this.#length));
    // Long rows have four independent maxima, because each comparison waits for the previous one.
    f.if(op('i32.ge_u', get(left), i32(48)), () => {
      const vectors = [max, ...[1, 2, 3].map(() => f.local('v128', get(max)))];
      f.countDown(left, 16, () => {
        vectors.forEach((vector, i) => {
          f.set(vector, larger(get(vector), load('v128.load', get(from), i * 16)));
        });
        f.add(from, 64);
      });
      for (const vector of vectors.slice(1)) f.set(max, larger(get(max), get(vector)));
    });
    along(f, left, [from], null, ({ values: [x] }) => {
      f.set(max, larger(get(max), x!));
      return null;
    });
    f.set(max, acrossLanes(larger, get(max)));
    return max;
  }
}

/** x − max prevents overflow of exp. */
const shifted = (x: Code, max: Local): Code => op('f32x4.sub', x, get(max));

function logSoftmax(f: FunctionBuilder): void {
  const row = new RowWriter(f);
  row.forEachRow(() => {
    const max = row.max();
    const sum = row.sum([row.first], ([x]) => emitExp(f, shifted(x!, max)));
    const logSum = f.local('v128', emitLog(f, get(sum)));
    row.pass([row.first], ([x]) => op('f32x4.sub', shifted(x!, max), get(logSum)));
  });
}

function softmax(f: FunctionBuilder): void {
  const row = new RowWriter(f);
  row.forEachRow(() => {
    const max = row.max();
    const sum = f.local('v128', f32x4(0));
    row.pass([row.first], ([x], masked) => {
      const e = f.local('v128', emitExp(f, shifted(x!, max)));
      f.set(sum, op('f32x4.add', get(sum), masked(get(e))));
      return get(e);
    });
    f.set(
      sum,
      acrossLanes((a, b) => op('f32x4.add', a, b), get(sum)),
    );
    row.pass([row.out], ([e]) => op('f32x4.div', e!, get(sum)));
  });
}

function logSoftmaxGrad(f: FunctionBuilder): void {
  const row = new RowWriter(f);
  row.forEachRow(() => {
    const sum = row.sum([row.first], ([dy]) => dy!);
    row.pass([row.first, row.second], ([dy, out]) => {
      const share = op('f32x4.mul', emitExp(f, out!), get(sum));
      return op('f32x4.sub', dy!, share);
    });
  });
}

/** −exp(first) · the number at `second`, for one row. */
function probabilityShare(f: FunctionBuilder): void {
  const row = new RowWriter(f);
  row.forEachRow(() => {
    const sum = f.local('v128', load('v128.load32_splat', get(row.second)));
    row.pass([row.first], ([out]) =>
      op('f32x4.sub', f32x4(0), op('f32x4.mul', emitExp(f, out!), get(sum))),
    );
  });
}

function softmaxGrad(f: FunctionBuilder): void {
  const row = new RowWriter(f);
  row.forEachRow(() => {
    const sum = row.sum([row.first, row.second], ([dy, out]) => op('f32x4.mul', dy!, out!));
    row.pass([row.first, row.second], ([dy, out]) =>
      op('f32x4.mul', op('f32x4.sub', dy!, get(sum)), out!),
    );
  });
}

export const softmaxKernels = lazily(() =>
  compileWhenRead([
    { logSoftmax },
    { softmax },
    { logSoftmaxGrad },
    { probabilityShare },
    { softmaxGrad },
  ]),
);
