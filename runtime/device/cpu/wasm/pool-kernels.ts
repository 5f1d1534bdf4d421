import { type Code, i32, lane, load, memoryLane, op, store } from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { compileWhenRead, lazily } from './assembler/module-builder.ts';

/** The form of positions of maxima: int32 in the plane, or uint8 in the window. */
type Places = 'inPlane' | 'inWindow';

/** Packs four positions in windows into the lowest bytes. */
function asBytes(places: Code): Code {
  const words = op('i16x8.narrow_i32x4_u', places, places);
  return op('i8x16.narrow_i16x8_u', words, words);
}

type Maxima = Readonly<Record<'best' | 'bestPlace' | 'value' | 'places' | 'wins', Local>>;

/** Replaces four maxima and their positions by larger values. NaN wins, as does the first of equal elements. */
function keepLarger(f: FunctionBuilder, { best, bestPlace, value, places, wins }: Maxima): void {
  const unordered = (x: Local): Code => op('f32x4.ne', get(x), get(x));
  const firstNaN = op('v128.and', unordered(value), op('v128.not', unordered(best)));
  f.set(wins, op('v128.or', op('f32x4.gt', get(value), get(best)), firstNaN));
  f.set(best, op('v128.bitselect', get(value), get(best), get(wins)));
  f.set(bestPlace, op('v128.bitselect', get(places), get(bestPlace), get(wins)));
}

/**
 * (from, out, indices, planes, outHeight, outWidth, width, planeBytes, kernelHeight, kernelWidth, strideH,
 * strideW): windows without padding, four outputs of a row at a time; outWidth ≥ 4, and the last group overlaps
 * the previous one.
 */
function maxPool(f: FunctionBuilder, kind: Places): void {
  const [
    from,
    out,
    indices,
    planes,
    outHeight,
    outWidth,
    width,
    planeBytes,
    kernelHeight,
    kernelWidth,
    strideH,
    strideW,
  ] = f.params(12);
  const [rowsLeft, line, column, place, start, tap, at, tapRows, tapColumns] = f.locals('i32', 9);
  const [best, bestPlace, places, value, wins] = f.locals('v128', 5);
  const step = f.local('i32', op('i32.shl', get(strideW), i32(2)));
  /** The positions of four adjacent windows relative to the first. */
  const spread = f.local('v128');
  for (let i = 1; i < 4; i++) {
    f.set(spread, lane('i32x4.replace_lane', i, get(spread), op('i32.mul', get(strideW), i32(i))));
  }

  const loadTap = (): void => {
    f.set(at, op('i32.add', get(from), op('i32.shl', get(tap), i32(2))));
    f.set(value, load('v128.load32_zero', get(at)));
    for (let i = 1; i < 4; i++) {
      f.add(at, get(step));
      f.set(value, memoryLane('v128.load32_lane', get(at), get(value), i));
    }
    f.set(
      places,
      kind === 'inPlane'
        ? op('i32x4.add', op('i32x4.splat', get(tap)), get(spread))
        : op('i32x4.splat', op('i32.sub', get(tap), get(start))),
    );
  };
  const group = (): void => {
    f.set(start, op('i32.add', get(line), op('i32.mul', get(column), get(strideW))));
    f.set(place, get(start));
    f.set(tap, get(start));
    loadTap();
    f.set(best, get(value));
    f.set(bestPlace, get(places));
    f.set(tapRows, get(kernelHeight));
    f.countDown(tapRows, 1, () => {
      f.set(tap, get(place));
      f.set(tapColumns, get(kernelWidth));
      f.countDown(tapColumns, 1, () => {
        loadTap();
        keepLarger(f, { best, bestPlace, value, places, wins });
        f.add(tap, 1);
      });
      f.add(place, get(width));
    });
    const offset = op('i32.shl', get(column), i32(2));
    f.emit(store('v128.store', op('i32.add', get(out), offset), get(best)));
    f.emit(
      kind === 'inPlane'
        ? store('v128.store', op('i32.add', get(indices), offset), get(bestPlace))
        : memoryLane(
            'v128.store32_lane',
            op('i32.add', get(indices), get(column)),
            asBytes(get(bestPlace)),
            0,
          ),
    );
  };

  const last = f.local('i32', op('i32.sub', get(outWidth), i32(4)));
  const rowBytes = f.local('i32', op('i32.shl', get(outWidth), i32(2)));
  f.countDown(planes, 1, () => {
    f.set(line, i32(0));
    f.set(rowsLeft, get(outHeight));
    f.countDown(rowsLeft, 1, () => {
      f.set(column, i32(0));
      f.while(op('i32.lt_s', get(column), get(last)), () => {
        group();
        f.add(column, 4);
      });
      f.set(column, get(last));
      group();
      f.add(out, get(rowBytes));
      f.add(indices, get(kind === 'inPlane' ? rowBytes : outWidth));
      f.add(line, op('i32.mul', get(strideH), get(width)));
    });
    f.add(from, get(planeBytes));
  });
}

/** (dy, indices, dx, planes, outPlane, planeBytes): adds each element of dy to the selected element. */
function maxPoolGrad(f: FunctionBuilder): void {
  const [dy, indices, dx, planes, outPlane, planeBytes] = f.params(6);
  const left = f.local('i32');
  const to = f.local('i32');
  f.countDown(planes, 1, () => {
    f.set(left, get(outPlane));
    f.countDown(left, 1, () => {
      const offset = op('i32.shl', load('i32.load', get(indices)), i32(2));
      f.set(to, op('i32.add', get(dx), offset));
      const sum = op('f32.add', load('f32.load', get(to)), load('f32.load', get(dy)));
      f.emit(store('f32.store', get(to), sum));
      f.add(dy, 4);
      f.add(indices, 4);
    });
    f.add(dx, get(planeBytes));
  });
}

/**
 * (dy, codes, dx, planes, outHeight, outWidth, planeBytes, first, lineBytes, windowBytes): like `maxPoolGrad`, with
 * positions in the windows. A plane's first window starts `first` bytes after the plane's start (before it, with
 * padding), and the next ones `windowBytes` further, or `lineBytes` in the next line.
 */
function maxPoolCodedGrad(f: FunctionBuilder): void {
  const [dy, codes, dx, planes, outHeight, outWidth, planeBytes, first, lineBytes, windowBytes] =
    f.params(10);
  const [rowsLeft, left, line, window, to] = f.locals('i32', 5);
  f.countDown(planes, 1, () => {
    f.set(line, op('i32.add', get(dx), get(first)));
    f.set(rowsLeft, get(outHeight));
    f.countDown(rowsLeft, 1, () => {
      f.set(window, get(line));
      f.set(left, get(outWidth));
      f.countDown(left, 1, () => {
        const offset = op('i32.shl', load('i32.load8_u', get(codes)), i32(2));
        f.set(to, op('i32.add', get(window), offset));
        const sum = op('f32.add', load('f32.load', get(to)), load('f32.load', get(dy)));
        f.emit(store('f32.store', get(to), sum));
        f.add(dy, 4);
        f.add(codes, 1);
        f.add(window, get(windowBytes));
      });
      f.add(line, get(lineBytes));
    });
    f.add(dx, get(planeBytes));
  });
}

/**
 * (from, out, indices, planes, outHeight, outWidth, width, planeBytes, rows, columns, rowStep, columnStep): arbitrary
 * windows. `rows` and `columns` are tables: the start of each window along a dimension, then the ends. Four windows of
 * the same width are computed together, others one by one, in all lanes. For positions in the windows, (first,
 * lineStep, windowStep) follow: a plane's first window, including padding, and the steps to the next, in elements.
 */
function maxPoolWindows(f: FunctionBuilder, kind: Places): void {
  const [from, out, indices, planes, outHeight, outWidth, width, planeBytes] = f.params(8);
  const [rows, columns, rowStep, columnStep] = f.params(4);
  const isInWindow = kind === 'inWindow';
  const [first, lineStep, windowStep] = Array.from({ length: isInWindow ? 3 : 0 }, () => f.param());
  const [rowsLeft, left, row, column, h, end, tap, taps] = f.locals('i32', 8);
  const [best, bestPlace, places, value, wins, starts, widths] = f.locals('v128', 7);
  const [line, window] = [f.local('i32'), f.local('i32')];
  /** The starts of four adjacent windows relative to the first. */
  const spread = f.local('v128');
  if (windowStep) {
    for (let i = 1; i < 4; i++) {
      const step = op('i32.mul', get(windowStep), i32(i));
      f.set(spread, lane('i32x4.replace_lane', i, get(spread), step));
    }
  }
  const codes = (): Code => {
    const starts = op('i32x4.add', op('i32x4.splat', get(window)), get(spread));
    return asBytes(op('i32x4.sub', get(bestPlace), starts));
  };
  const advance = (count: number): void => {
    f.add(out, 4 * count);
    f.add(indices, isInWindow ? count : 4 * count);
    f.add(column, 4 * count);
    f.add(left, -count);
    if (windowStep) f.add(window, op('i32.mul', get(windowStep), i32(count)));
  };
  const ends = (table: Local, count: Local): Code =>
    op('i32.add', get(table), op('i32.shl', get(count), i32(2)));
  const columnEnds = f.local('i32', ends(columns, outWidth));
  const rowEnds = f.local('i32', ends(rows, outHeight));
  const columnEndShift = f.local('i32', op('i32.sub', get(columnEnds), get(columns)));
  const rowEndShift = f.local('i32', op('i32.sub', get(rowEnds), get(rows)));

  const loadTap = (): void => {
    const place = op('i32.add', op('i32.mul', get(h), get(width)), get(tap));
    f.set(places, op('i32x4.add', get(starts), op('i32x4.splat', place)));
    for (let i = 0; i < 4; i++) {
      const at = op('i32.shl', lane('i32x4.extract_lane', i, get(places)), i32(2));
      const address = op('i32.add', get(from), at);
      f.set(
        value,
        i === 0
          ? load('v128.load32_zero', address)
          : memoryLane('v128.load32_lane', address, get(value), i),
      );
    }
  };
  const windows = (): void => {
    f.set(h, load('i32.load', get(row)));
    f.set(end, load('i32.load', op('i32.add', get(row), get(rowEndShift))));
    f.set(tap, i32(0));
    loadTap();
    f.set(best, get(value));
    f.set(bestPlace, get(places));
    f.while(op('i32.lt_s', get(h), get(end)), () => {
      f.set(tap, i32(0));
      f.while(op('i32.lt_s', get(tap), get(taps)), () => {
        loadTap();
        keepLarger(f, { best, bestPlace, value, places, wins });
        f.add(tap, get(columnStep));
      });
      f.add(h, get(rowStep));
    });
  };
  const one = (): void => {
    f.set(starts, load('v128.load32_splat', get(column)));
    const last = load('i32.load', op('i32.add', get(column), get(columnEndShift)));
    f.set(taps, op('i32.sub', last, load('i32.load', get(column))));
    windows();
    f.emit(memoryLane('v128.store32_lane', get(out), get(best), 0));
    f.emit(
      isInWindow
        ? memoryLane('v128.store8_lane', get(indices), codes(), 0)
        : memoryLane('v128.store32_lane', get(indices), get(bestPlace), 0),
    );
    advance(1);
  };
  const four = (): void => {
    f.set(taps, lane('i32x4.extract_lane', 0, get(widths)));
    windows();
    f.emit(store('v128.store', get(out), get(best)));
    f.emit(
      isInWindow
        ? memoryLane('v128.store32_lane', get(indices), codes(), 0)
        : store('v128.store', get(indices), get(bestPlace)),
    );
    advance(4);
  };
  f.countDown(planes, 1, () => {
    if (first) f.set(line, get(first));
    f.set(row, get(rows));
    f.set(rowsLeft, get(outHeight));
    f.countDown(rowsLeft, 1, () => {
      f.set(column, get(columns));
      f.set(window, get(line));
      f.set(left, get(outWidth));
      f.while(op('i32.gt_s', get(left), i32(0)), () => {
        f.if(
          op('i32.ge_s', get(left), i32(4)),
          () => {
            f.set(starts, load('v128.load', get(column)));
            const last = load('v128.load', op('i32.add', get(column), get(columnEndShift)));
            f.set(widths, op('i32x4.sub', last, get(starts)));
            const first = op('i32x4.splat', lane('i32x4.extract_lane', 0, get(widths)));
            const alike = op('i8x16.all_true', op('i32x4.eq', get(widths), first));
            f.if(alike, four, one);
          },
          one,
        );
      });
      f.add(row, 4);
      if (lineStep) f.add(line, get(lineStep));
    });
    f.add(from, get(planeBytes));
  });
}

export const poolKernels = lazily(() =>
  compileWhenRead([
    { maxPool: (f) => maxPool(f, 'inPlane') },
    { maxPoolCoded: (f) => maxPool(f, 'inWindow') },
    { maxPoolWindows: (f) => maxPoolWindows(f, 'inPlane') },
    { maxPoolCodedWindows: (f) => maxPoolWindows(f, 'inWindow') },
    { maxPoolGrad },
    { maxPoolCodedGrad },
  ]),
);
