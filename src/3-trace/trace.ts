import type { OpRecord } from '../../runtime/ops/define-op.ts';
import type { Program } from '../../runtime/program/program.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Code } from '../bytecode/code.ts';
import type { Frame } from '../bytecode/frame.ts';
import type { Instruction, Opcode, Pc } from '../bytecode/instructions.ts';
import type { Loop } from '../bytecode/structure.ts';
import type { Guard } from '../guards/guard.ts';
import type { NumberHistory } from '../guards/number-history.ts';
import { sourceKey } from '../guards/source-key.ts';
import { appendControl, type DifferentiateRegion } from '../regions/append-control.ts';
import { type BreakRecord, GraphBreak } from '../traces/graph-break.ts';
import type { Outcome, TraceResult } from '../traces/trace-result.ts';
import type { CodeOf } from './code-of.ts';
import { distinctInputs } from './distinct-inputs.ts';
import { startGenerator } from './generators.ts';
import { settle } from './graph-control/decide.ts';
import {
  type ControlPolicy,
  GraphControl,
  LoopPlans,
  TraceAgain,
} from './graph-control/graph-control.ts';
import { convertOrUnroll, loopToConvert } from './graph-control/loop.ts';
import { endAt, endWith, type PathEnd } from './graph-control/path.ts';
import { callHandlers } from './handlers/calls.ts';
import { controlHandlers } from './handlers/control.ts';
import { get, type Handler, type Handlers, set } from './handlers/handler.ts';
import { objectHandlers } from './handlers/objects.ts';
import { operatorHandlers } from './handlers/operators.ts';
import { valueHandlers } from './handlers/values.ts';
import { callInside } from './invoke.ts';
import { Reconstruction } from './reconstruct.ts';
import { resizedOf } from './resize.ts';
import { sizeIn } from './sizes.ts';
import { type TraceFrame, Tracer } from './tracer.ts';
import type { Variable } from './variable.ts';

/** One for each opcode: a missing one fails to compile. */
const handlers: Handlers<Exclude<Opcode, 'return'>> = {
  ...valueHandlers,
  ...operatorHandlers,
  ...objectHandlers,
  ...controlHandlers,
  ...callHandlers,
};

export interface TraceOptions {
  /** Which numbers were found at this point before. */
  readonly history: NumberHistory;
  /** Numbers that came out of a break are not guarded by value any more: they kept changing. */
  readonly numbersAreVolatile?: boolean;
  /** Where decisions on values of the program are part of it. */
  readonly controlPolicy?: ControlPolicy;
  /** Told of each instruction before it is executed, for logs. */
  readonly onInstruction?: ((code: Code, pc: Pc) => void) | undefined;
  /** What later phases do with the programs of branches and loop bodies. */
  readonly regions: RegionPhases;
}

export interface RegionPhases {
  readonly normalize: (program: Program) => Program;
  readonly differentiate: DifferentiateRegion;
}

/**
 * Symbolic execution. In: the frames to go on with (one at pc 0 for a call). Out: the program of the
 * tensor ops up to the next break or the return, what it relies on, and how to go on from there.
 * Guarantees: no user code has run and nothing of the user's has changed.
 */
export function trace(
  entryFrames: readonly Frame[],
  codeOf: CodeOf,
  options: TraceOptions,
): TraceResult {
  const plans = new LoopPlans();
  for (;;) {
    try {
      return traceOnce(entryFrames, codeOf, options, plans);
    } catch (error) {
      if (!(error instanceof TraceAgain)) throw error;
    }
  }
}

function traceOnce(
  entryFrames: readonly Frame[],
  codeOf: CodeOf,
  options: TraceOptions,
  plans: LoopPlans,
): TraceResult {
  const { history, numbersAreVolatile = false, controlPolicy = 'functions', regions } = options;
  const control = new GraphControl(controlPolicy, plans);
  const tracer = new Tracer(entryFrames, codeOf, { numbersAreVolatile, history, control });
  tracer.appendControl = (op, inputs, programs) =>
    appendRegions(tracer, regions, op, inputs, programs);
  tracer.onInstruction = options.onInstruction;
  const end = execute(tracer);
  const reconstruction = new Reconstruction(tracer);
  const outcome: Outcome =
    end.kind === 'return'
      ? { kind: 'return', value: reconstruction.recipe(end.value) }
      : {
          kind: 'break',
          record: end.record,
          cause: end.cause,
          frames: tracer.frames.map((frame, depth) =>
            reconstruction.frame(frame, frame.pc, tracer.frames[depth + 1]?.returnTo),
          ),
        };
  const effects = reconstruction.effects();
  const program = tracer.builder.finish(reconstruction.outputs);
  const { inputs, numbers, tape, sizes } = tracer;
  const result: TraceResult = {
    guards: [
      ...tracer.guards.values(),
      ...distinctInputs(inputs, program),
      ...tracer.effects.met.guards(),
      ...disposedInputs(tracer),
    ],
    inputs: inputs.map(({ source }) => source),
    numbers: numbers.sources,
    scalars: numbers.scalars,
    sizes: sizes.reads.map(({ tensor, dim }) => sizeIn(tensor, dim)),
    resized: null,
    needsGrad: inputs.map(({ tensor }) => tensor.requiresGrad),
    differentiable: reconstruction.differentiable(),
    program,
    makes: reconstruction.makes,
    effects,
    randomNumbers: tracer.random.count,
    outcome,
    reads: reconstruction.reads(),
    codes: entryFrames.map((frame) => frame.closure.code),
    pcs: entryFrames.map((frame) => frame.pc),
  };
  const { outputTensors } = reconstruction;
  // Without the user's tensors, which a trace must not keep alive.
  const places = inputs.map(({ source, tensor }) => ({ source, tensor }));
  const resized = resizedOf({ result, inputs: places, outputs: outputTensors, tape, sizes });
  return { ...result, resized };
}

/** What is given back is none of the tensors that are used, or exactly those that it was here. */
function disposedInputs({ effects, inputs }: Tracer): Guard[] {
  return [...effects.disposed].flatMap(([tensor, { source }]) =>
    inputs.flatMap(({ source: other, actual }): Guard[] => {
      if (!source || sourceKey(source) === sourceKey(other)) return [];
      return [{ kind: 'same', source, other, same: actual === tensor }];
    }),
  );
}

function appendRegions(
  tracer: Tracer,
  { normalize, differentiate }: RegionPhases,
  op: OpRecord,
  inputs: readonly Tensor[],
  programs: readonly Program[],
): Tensor[] {
  const regions = programs.map((program) => ({ program: normalize(program), joint: null }));
  const { builder } = tracer;
  return tracer
    .runApi(() => appendControl(builder, op, inputs, regions, differentiate))
    .slice(0, -1);
}

type End =
  | { readonly kind: 'return'; readonly value: Variable }
  | { readonly kind: 'break'; readonly record: BreakRecord; readonly cause: unknown };

function execute(tracer: Tracer): End {
  tracer.callInside = (callee, receiver, args) => callInside(tracer, callee, receiver, args);
  tracer.runAbove = (depth) => runAbove(tracer, depth);
  tracer.runPath = (depth, stops) => runPath(tracer, depth, stops, false);
  tracer.runLoopBody = (frame, loop, from) => runLoopBody(tracer, frame, loop, from);
  tracer.runLoopHead = (frame, loop) => runLoopHead(tracer, frame, loop);
  try {
    return { kind: 'return', value: tracer.runAbove(0) };
  } catch (error) {
    if (!(error instanceof GraphBreak)) throw error;
    const { reason, detail, at = tracer.position() } = error;
    const record = { reason, detail, at, line: at && tracer.lineAt(at) };
    return { kind: 'break', record, cause: error.cause };
  }
}

/** Executes one instruction of the top frame; answers what it returns, if it does. */
function step(tracer: Tracer): { readonly value: Variable } | undefined {
  tracer.tick();
  const frame = tracer.top;
  tracer.onInstruction?.(frame.closure.code, frame.pc);
  const { code } = frame.closure;
  const instruction = code.instructions[frame.pc]!;
  if (instruction.op === 'return') return { value: get(frame, instruction.src) };
  if (instruction.op === 'generatorStart') return { value: startGenerator(frame) };
  if (instruction.op === 'yield' && instruction.mode === 'yield') {
    return { value: get(frame, instruction.src) };
  }
  const loop = loopToConvert(tracer, frame);
  if (loop) {
    frame.pc = settle(tracer, frame, convertOrUnroll(tracer, frame, loop));
  } else {
    const handler = handlers[instruction.op] as Handler<Opcode>;
    const next = handler(tracer, frame, instruction as Instruction);
    frame.pc = next ?? frame.pc + 1;
  }
  const { returning } = tracer.control;
  if (!returning) return undefined;
  tracer.control.returning = null;
  return { value: returning };
}

/** The frame above is done: its result is in the caller's register. */
function popFrame(tracer: Tracer, value: Variable): void {
  const { returnTo } = tracer.frames.pop()!;
  if (returnTo !== undefined) set(tracer.top, returnTo, value);
}

/** Until the frame at `depth` returns. The outermost one stays: nobody waits for it. */
function runAbove(tracer: Tracer, depth: number): Variable {
  for (;;) {
    const returned = step(tracer);
    if (!returned) continue;
    const { value } = returned;
    if (tracer.frames.length === 1) return value;
    if (tracer.frames.length === depth + 1) {
      tracer.frames.pop();
      return value;
    }
    popFrame(tracer, value);
  }
}

/**
 * Until the frame at `depth` returns or comes to a stop; when `entering`, not at the instruction where it
 * stands. The frame stays.
 */
function runPath(
  tracer: Tracer,
  depth: number,
  stops: ReadonlySet<Pc>,
  entering: boolean,
): PathEnd {
  const { control } = tracer;
  return control.inPath(tracer.top, stops, () => {
    for (let first = entering; ; first = false) {
      const frame = tracer.top;
      const below = tracer.frames.length === depth;
      if (below && !first && stops.has(frame.pc)) return endAt(frame.pc, tracer.position());
      const returned = step(tracer);
      if (control.ended) {
        const { ended } = control;
        control.ended = null;
        return ended;
      }
      if (!returned) continue;
      if (below) return endWith(returned.value, tracer.position());
      popFrame(tracer, returned.value);
    }
  });
}

function runLoopBody(tracer: Tracer, frame: TraceFrame, loop: Loop, from: Pc): PathEnd {
  const stops = new Set([loop.header, ...loop.exits]);
  const depth = tracer.frames.length;
  frame.pc = from;
  return tracer.control.inLoop(frame, loop, () =>
    runPath(tracer, depth, stops, from === loop.header),
  );
}

function runLoopHead(tracer: Tracer, frame: TraceFrame, loop: Loop): PathEnd {
  const stops = new Set([loop.header, ...loop.exits]);
  const depth = tracer.frames.length;
  return tracer.control.inHead(frame, loop, () => runPath(tracer, depth, stops, true));
}
