import type { LostHistory } from '../../runtime/autograd/lost-history.ts';
import type { UserPosition } from '../../runtime/errors/position.ts';
import type { SameOutput } from '../../runtime/run-program/same-outputs.ts';
import type { CalledNumber } from '../guards/called-numbers.ts';
import { type BreakReason, type BreakRecord, breakReasons } from '../traces/graph-break.ts';
import type { Rerun } from '../traces/reruns.ts';
import type { LoopDecision, Outcome, Resized, TraceResult } from '../traces/trace-result.ts';
import {
  always,
  boolean,
  type Codec,
  integer,
  integers,
  list,
  nullable,
  number,
  oneOf,
  optional,
  record,
  string,
  variants,
} from './codec.ts';
import { guard } from './guard-codec.ts';
import { position, program, scalars } from './program-codec.ts';
import { effect, frame, make, recipe } from './recipe-codec.ts';
import { source } from './source-codec.ts';

const flag = optional(boolean);

const breakRecord = record<BreakRecord>({
  reason: oneOf(...(Object.keys(breakReasons) as BreakReason[])),
  detail: string,
  at: position,
  line: optional(string),
});

const outcome = variants<Outcome>(() => ({
  return: record({ value: recipe }),
  break: record({
    record: breakRecord,
    cause: always<unknown>(undefined, 'an op rejects its operands'),
    frames: list(frame),
    eagerly: flag as Codec<true>,
    afterEffects: flag as Codec<boolean>,
    onlyThrows: flag as Codec<boolean>,
  }),
}));

const loops = list(record<LoopDecision>({ at: position, why: string }));
const same = record<SameOutput>({
  output: integer(),
  others: list(record({ index: integer(), isLeaf: boolean })),
  mayBeInput: boolean,
});

const rerun = record<Rerun>({
  outputs: integers(),
  sources: list(source),
  made: list(record({ index: integer(), keys: nullable(list(string)) })),
  contents: list(source),
});

/** A call of the clock, or of `Math.random()`. */
const called: Codec<CalledNumber> = {
  write: (value, live) => source.write(value, live),
  read(field, live) {
    const read = source.read(field, live);
    return read.kind === 'called' ? read : field.fail('a call of the clock');
  },
};

const facts = record<Exclude<LostHistory, string>>({
  what: string,
  given: string,
  expected: string,
  remedy: string,
});

const lostHistory: Codec<LostHistory> = {
  write: (lost, live) => (typeof lost === 'string' ? lost : facts.write(lost, live)),
  read: (field, live) => (typeof field.value === 'string' ? field.value : facts.read(field, live)),
};

/** The parts of a trace that are independent of the process. */
export type KeptTrace = Omit<TraceResult, 'places' | 'sources' | 'codes' | 'pcs'>;

export const trace = record<KeptTrace>({
  guards: list(guard),
  inputs: list(source),
  numbers: list(source),
  scalars,
  sizes: list(number),
  resized: always<Resized | null>(null, 'it serves several sizes'),
  needsGrad: list(boolean),
  differentiable: list(boolean),
  lost: list(nullable(lostHistory)),
  program,
  makes: list(make),
  effects: list(effect),
  unrolled: loops,
  kept: loops,
  perLength: loops,
  truthyTensors: list(position) as Codec<readonly UserPosition[]>,
  called: list(called),
  randomNumbers: integer(),
  outcome,
  reruns: list(rerun),
  reads: integers(),
  optional: integers(),
  same: list(same),
  viewsOfOne: list(integers()),
});
