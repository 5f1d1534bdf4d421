import { argumentsAt, panelBAt, panelBBytes } from '../core/scratch.ts';
import {
  type Code,
  callCode,
  f64,
  fillMemory,
  i32,
  load,
  op,
  scratch,
  store,
} from './assembler/code.ts';
import { type FunctionBuilder, get, type Local } from './assembler/function-builder.ts';
import { localIndex } from './assembler/module-builder.ts';

/**
 * Normalization of whole groups, composed of the functions that process a run. Element i of group g and outer
 * entry o is at (o · groups + g) · length + i; weights change every `run` elements. Sums are float32 over at most
 * `longest` elements, and float64 over these sums.
 */

/** float32 sums cover at most this many elements; longer runs add such sums in double precision. */
const longest = 4096;

/** The maximum number of weights whose gradient one call can compute. */
export const mostWeights = panelBBytes / 8;

/** Indices in the module of the functions called here. */
const runFunctions = [
  ...['moments', 'scaleRun', 'scaleEach', 'gradMomentsRun', 'gradMomentsEach', 'gradRun'],
  ...['gradEach', 'addWeightGrad'],
] as const;

function call(f: FunctionBuilder, name: (typeof runFunctions)[number], ...args: Code[]): void {
  f.emit(callCode(localIndex(runFunctions.indexOf(name)), ...args));
}

const plus = (base: Local, offset: Local): Code => op('i32.add', get(base), get(offset));
const plusElements = (base: Local, elements: Local): Code =>
  op('i32.add', get(base), op('i32.shl', get(elements), i32(2)));
const single = (value: Local): Code => op('f32.demote_f64', get(value));
const double = (value: Local): Code => op('f64.promote_f32', get(value));
const smaller = (x: Local, limit: number): Code =>
  op('select', get(x), i32(limit), op('i32.lt_u', get(x), i32(limit)));

interface Groups {
  readonly groups: Local;
  readonly outer: Local;
  readonly length: Local;
}

/** Calls `body` with the byte offset of each outer entry of the group from the tensor's start. */
function forEachOuter(
  f: FunctionBuilder,
  group: Local,
  { groups, outer, length }: Groups,
  body: (at: Local) => void,
): void {
  const [at, left] = f.locals('i32', 2);
  f.set(at, op('i32.shl', op('i32.mul', get(group), get(length)), i32(2)));
  f.set(left, get(outer));
  f.countDown(left, 1, () => {
    body(at);
    f.add(at, op('i32.shl', op('i32.mul', get(groups), get(length)), i32(2)));
  });
}

/** Both sums that `part(start, count)` stores, over a run of `length` elements starting at byte `skip`. */
function summed(
  f: FunctionBuilder,
  length: Local,
  skip: Local,
  [first, second]: readonly [Local, Local],
  part: (at: Local, start: Local, count: Local) => void,
): void {
  const [at, start, count, left] = f.locals('i32', 4);
  f.set(first, f64(0));
  f.set(second, f64(0));
  f.set(at, get(skip));
  f.set(start, i32(0));
  f.set(left, get(length));
  f.while(op('i32.gt_s', get(left), i32(0)), () => {
    f.set(count, smaller(left, longest));
    part(at, start, count);
    const sum = (offset: number) =>
      op('f64.promote_f32', load('f32.load', scratch(argumentsAt), offset));
    f.set(first, op('f64.add', get(first), sum(0)));
    f.set(second, op('f64.add', get(second), sum(4)));
    f.add(at, longest * 4);
    f.add(start, longest * 4);
    f.add(left, -longest);
  });
}

/** The weight of the group's first element; 0 without weights. */
function firstWeight(f: FunctionBuilder, at: Local, group: Local, sizes: Weights): void {
  const { length, run, weights } = sizes;
  f.set(at, i32(0));
  f.if(get(weights), () => {
    const before = op('i32.mul', get(group), op('i32.div_u', get(length), get(run)));
    f.set(at, op('i32.rem_u', before, get(weights)));
  });
}

interface Weights {
  readonly length: Local;
  readonly run: Local;
  readonly weights: Local;
}

function nextWeight(f: FunctionBuilder, which: Local, weights: Local): void {
  f.add(which, 1);
  f.if(op('i32.ge_s', get(which), get(weights)), () => f.set(which, i32(0)));
}

/**
 * (x, out, stats, weight, bias, from, to, groups, outer, length, run, weights, step, each, centered, eps): groups
 * `from` to `to`. `step` elements share one weight, or each has its own if `each`.
 */
export function standardizeGroups(f: FunctionBuilder): void {
  standardized(f, false);
}

/** `standardizeGroups` with given `stats`. */
export function standardizeGroupsByStats(f: FunctionBuilder): void {
  standardized(f, true);
}

function standardized(f: FunctionBuilder, isByStats: boolean): void {
  const [x, out, stats, weight, bias, group, end, groups, outer, length, run, weights, step, each] =
    f.params(14);
  const centered = f.param();
  const eps = f.param('f64');
  const sizes = { groups, outer, length };
  const count = f.local('f64');
  f.set(count, op('f64.convert_i32_s', op('i32.mul', get(outer), get(length))));
  const [mean, scale] = [f.local('f32'), f.local('f32')];
  const sums = [f.local('f64'), f.local('f64')] as const;
  const total = f.local('f64');
  const [statsAt, which, left, at] = f.locals('i32', 4);
  const over = (shift: Local, index: 0 | 1): void => {
    f.set(total, f64(0));
    forEachOuter(f, group, sizes, (place) => {
      summed(f, length, place, sums, (from, _start, n) =>
        call(f, 'moments', plus(x, from), get(n), scratch(argumentsAt), get(shift)),
      );
      f.set(total, op('f64.add', get(total), get(sums[index])));
    });
  };
  const zero = f.local('f32');
  const findStatistics = (): void => {
    f.set(mean, get(zero));
    f.if(get(centered), () => {
      over(zero, 0);
      f.set(mean, op('f32.demote_f64', op('f64.div', get(total), get(count))));
    });
    over(mean, 1);
    const variance = op('f64.add', op('f64.div', get(total), get(count)), get(eps));
    f.set(scale, op('f32.demote_f64', op('f64.div', f64(1), op('f64.sqrt', variance))));
    f.emit(store('f32.store', get(statsAt), get(mean)));
    f.emit(store('f32.store', get(statsAt), get(scale), 4));
  };
  f.while(op('i32.lt_s', get(group), get(end)), () => {
    f.set(statsAt, op('i32.add', get(stats), op('i32.shl', get(group), i32(3))));
    if (isByStats) {
      f.set(mean, load('f32.load', get(statsAt)));
      f.set(scale, load('f32.load', get(statsAt), 4));
    } else findStatistics();
    forEachOuter(f, group, sizes, (place) => {
      f.if(
        get(each),
        () =>
          call(
            ...([f, 'scaleEach', plus(x, place), get(weight), get(bias), get(length)] as const),
            ...[plus(out, place), get(mean), get(scale)],
          ),
        () => {
          firstWeight(f, which, group, { length, run, weights });
          f.set(at, get(place));
          f.set(left, get(length));
          f.while(op('i32.gt_s', get(left), i32(0)), () => {
            const [factor, added] = [f.local('f32'), f.local('f32')];
            f.set(factor, get(scale));
            f.set(added, get(zero));
            f.if(get(weights), () => {
              const weightAt = load('f32.load', plusElements(weight, which));
              f.set(factor, op('f32.mul', get(scale), weightAt));
              f.set(added, load('f32.load', plusElements(bias, which)));
            });
            call(
              ...([f, 'scaleRun', plus(x, at), get(step), plus(out, at)] as const),
              ...[get(mean), get(factor), get(added)],
            );
            nextWeight(f, which, weights);
            f.add(at, op('i32.shl', get(step), i32(2)));
            f.set(left, op('i32.sub', get(left), get(step)));
          });
        },
      );
    });
    f.add(group, 1);
  });
}

/**
 * (dy, x, dx, stats, weight, from, to, groups, outer, length, run, weights, step, each, centered): the input
 * gradient of groups `from` to `to`.
 */
export function standardizeGradGroups(f: FunctionBuilder): void {
  const [dy, x, dx, stats, weight, group, end, groups, outer, length, run, weights, step, each] =
    f.params(14);
  const centered = f.param();
  const sizes = { groups, outer, length };
  const count = f.local('f64');
  f.set(count, op('f64.convert_i32_s', op('i32.mul', get(outer), get(length))));
  const [mean, scale, factor] = [f.local('f32'), f.local('f32'), f.local('f32')];
  const [sum, product, shift, slope] = f.locals('f64', 4);
  const sums = [f.local('f64'), f.local('f64')] as const;
  const [statsAt, which, left, at] = f.locals('i32', 4);

  const loadFactor = (): void => {
    f.if(
      get(weights),
      () => f.set(factor, load('f32.load', plusElements(weight, which))),
      () => f.set(factor, op('f32.convert_i32_s', i32(1))),
    );
  };
  const addSums = (): void => {
    f.set(sum, op('f64.add', get(sum), op('f64.mul', get(sums[0]), double(factor))));
    f.set(product, op('f64.add', get(product), op('f64.mul', get(sums[1]), double(factor))));
  };
  /** Runs of one weight: `body` finds the byte offset of each in `at`, and its weight in `factor`. */
  const forEachRun = (place: Local, body: () => void): void => {
    firstWeight(f, which, group, { length, run, weights });
    f.set(at, get(place));
    f.set(left, get(length));
    f.while(op('i32.gt_s', get(left), i32(0)), () => {
      loadFactor();
      body();
      nextWeight(f, which, weights);
      f.add(at, op('i32.shl', get(step), i32(2)));
      f.set(left, op('i32.sub', get(left), get(step)));
    });
  };

  f.while(op('i32.lt_s', get(group), get(end)), () => {
    f.set(statsAt, op('i32.add', get(stats), op('i32.shl', get(group), i32(3))));
    f.set(mean, load('f32.load', get(statsAt)));
    f.set(scale, load('f32.load', get(statsAt), 4));
    f.set(sum, f64(0));
    f.set(product, f64(0));
    forEachOuter(f, group, sizes, (place) => {
      f.if(
        get(each),
        () => {
          summed(f, length, place, sums, (from, start, n) =>
            call(
              ...([
                f,
                'gradMomentsEach',
                plus(dy, from),
                plus(x, from),
                plus(weight, start),
              ] as const),
              ...[get(n), scratch(argumentsAt), get(mean)],
            ),
          );
          f.set(factor, op('f32.convert_i32_s', i32(1)));
          addSums();
        },
        () =>
          forEachRun(place, () => {
            summed(f, step, at, sums, (from, _start, n) =>
              call(
                ...([f, 'gradMomentsRun', plus(dy, from), plus(x, from), get(n)] as const),
                ...[scratch(argumentsAt), get(mean)],
              ),
            );
            addSums();
          }),
      );
    });
    f.set(shift, f64(0));
    f.if(get(centered), () => f.set(shift, op('f64.div', get(sum), get(count))));
    const scaled = op('f64.mul', op('f64.mul', get(product), double(scale)), double(scale));
    f.set(slope, op('f64.div', scaled, get(count)));
    forEachOuter(f, group, sizes, (place) => {
      f.if(
        get(each),
        () =>
          call(
            ...([
              f,
              'gradEach',
              plus(dy, place),
              plus(x, place),
              get(weight),
              get(length),
            ] as const),
            ...[plus(dx, place), get(mean), get(scale), single(shift), single(slope)],
          ),
        () =>
          forEachRun(place, () =>
            call(
              ...([f, 'gradRun', plus(dy, at), plus(x, at), get(step), plus(dx, at)] as const),
              ...[get(mean), get(scale), single(shift), single(slope), get(factor)],
            ),
          ),
      );
    });
    f.add(group, 1);
  });
}

/**
 * (dy, x, stats, dw, rows, groups, length, from, columns): a weight per element of a group, starting at weight
 * `from`: dw += Σ dy · (x − mean) · scale over the rows; row r has the statistics of group r % groups.
 */
export function addWeightGradRows(f: FunctionBuilder): void {
  const [dy, x, stats, dw, rows, groups, length, from, columns] = f.params(9);
  const [at, group, statsAt] = f.locals('i32', 3);
  f.set(at, op('i32.shl', get(from), i32(2)));
  f.countDown(rows, 1, () => {
    f.set(statsAt, op('i32.add', get(stats), op('i32.shl', get(group), i32(3))));
    call(
      ...([f, 'addWeightGrad', plus(dy, at), plus(x, at), get(columns)] as const),
      ...[
        plusElements(dw, from),
        load('f32.load', get(statsAt)),
        load('f32.load', get(statsAt), 4),
      ],
    );
    f.add(at, op('i32.shl', get(length), i32(2)));
    f.add(group, 1);
    f.if(op('i32.eq', get(group), get(groups)), () => f.set(group, i32(0)));
  });
}

/**
 * (dy, x, stats, dw, outer, groups, length, run, weights, from, to): a weight per run, weights `from` to `to`, at
 * most `mostWeights`, summed in float64.
 */
export function weightGradRuns(f: FunctionBuilder): void {
  const [dy, x, stats, dw, outer, groups, length, run, weights, from, to] = f.params(11);
  const totals = f.local('i32', scratch(panelBAt));
  const [at, group, groupsLeft, statsAt, which, left, place] = f.locals('i32', 7);
  const [mean, scale] = [f.local('f32'), f.local('f32')];
  const sums = [f.local('f64'), f.local('f64')] as const;
  const offset = (): Code => op('i32.sub', get(which), get(from));
  const bytes = op('i32.shl', op('i32.sub', get(to), get(from)), i32(3));
  f.emit(fillMemory(get(totals), i32(0), bytes));
  f.countDown(outer, 1, () => {
    f.set(group, i32(0));
    f.set(groupsLeft, get(groups));
    f.countDown(groupsLeft, 1, () => {
      f.set(statsAt, op('i32.add', get(stats), op('i32.shl', get(group), i32(3))));
      f.set(mean, load('f32.load', get(statsAt)));
      f.set(scale, load('f32.load', get(statsAt), 4));
      firstWeight(f, which, group, { length, run, weights });
      f.set(left, get(length));
      f.while(op('i32.gt_s', get(left), i32(0)), () => {
        const isOwn = op(
          'i32.and',
          op('i32.ge_s', get(which), get(from)),
          op('i32.lt_s', get(which), get(to)),
        );
        f.if(isOwn, () => {
          summed(f, run, at, sums, (start, _start, n) =>
            call(
              ...([f, 'gradMomentsRun', plus(dy, start), plus(x, start), get(n)] as const),
              ...[scratch(argumentsAt), get(mean)],
            ),
          );
          f.set(place, op('i32.add', get(totals), op('i32.shl', offset(), i32(3))));
          const share = op('f64.mul', get(sums[1]), double(scale));
          f.emit(
            store('f64.store', get(place), op('f64.add', load('f64.load', get(place)), share)),
          );
        });
        nextWeight(f, which, weights);
        f.add(at, op('i32.shl', get(run), i32(2)));
        f.set(left, op('i32.sub', get(left), get(run)));
      });
      f.add(group, 1);
    });
  });
  f.set(which, get(from));
  f.while(op('i32.lt_s', get(which), get(to)), () => {
    const total = load('f64.load', op('i32.add', get(totals), op('i32.shl', offset(), i32(3))));
    f.emit(store('f32.store', plusElements(dw, which), op('f32.demote_f64', total)));
    f.add(which, 1);
  });
}
