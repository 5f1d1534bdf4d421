import { ArgumentError, CaptureError } from '../../runtime/errors/errors.ts';
import { didYouMean } from '../../runtime/options/expect-options.ts';
import { passNames } from '../5-optimize/passes.ts';
import { Captured } from '../dispatch/captured-function.ts';
import { printPasses } from '../explain/print-passes.ts';
import { printStages, type StageName, stageNames } from '../explain/print-stages.ts';
import { type PassRecord, passObservers } from '../programs/pass-record.ts';
import { finishCall } from './files/finish-call.ts';
import { loadFunction } from './files/load-function.ts';

interface TraceOptions {
  readonly function?: string;
  readonly dump?: string;
}

/** `tostatic trace`: makes one call, then prints every stage as text, with the final plan. */
export async function traceFile(file: string, options: TraceOptions): Promise<void> {
  const { stages, passes } = dumpsOf(options.dump);
  const { fn, inputs } = await loadFunction(file, options.function);
  const captured = new Captured(fn, {});
  const records: PassRecord[] = [];
  const unsubscribe = passObservers.subscribe((record) => {
    if (!record.isFirst) records.push(record);
  });
  await finishCall(captured.call(undefined, await inputs()));
  await captured.ready();
  unsubscribe();
  const { code } = captured;
  if (!code) {
    const [fallback] = captured.stats().fallbacks;
    throw new CaptureError({
      what: 'trace: the function is not captured',
      given: fn.name || 'a function without name',
      expected: 'a function whose source and scope are available',
      remedy: fallback?.why ?? 'see docs/scope.md',
    });
  }
  const dumps = [
    ...printStages(code.closure.code, captured.parts, stages),
    ...printPasses(records, passes),
  ];
  if (dumps.length === 0) {
    throw new CaptureError({
      what: 'trace: no program was made',
      given: `${fn.name || 'a function'} of ${file}`,
      expected: 'a call that computes with tensors',
      remedy:
        captured.stats().fallbacks[0]?.why ??
        'pass tensors; make sure that the file imports the tostatic that runs this command, as an ES module',
    });
  }
  for (const { title, text } of dumps) {
    process.stdout.write(`── ${title} ──\n${text.endsWith('\n') ? text : `${text}\n`}\n`);
  }
}

interface Dumps {
  readonly stages: readonly StageName[];
  readonly passes: readonly string[];
}

/** Parses `program,after:slices`: stages, and programs after single passes; `passes` means after each pass. */
function dumpsOf(text: string | undefined): Dumps {
  if (text === undefined) return { stages: stageNames, passes: [] };
  const [stages, passes]: [StageName[], string[]] = [[], []];
  for (const name of text.split(',').map((each) => each.trim())) {
    const stage = stageNames.find((known) => known === name);
    const pass = passNames.find((known) => name === `after:${known}`);
    if (stage) stages.push(stage);
    else if (pass) passes.push(pass);
    else if (name === 'passes') passes.push(...passNames);
    else throw unknownDump(name);
  }
  return { stages, passes };
}

function unknownDump(name: string): ArgumentError {
  return new ArgumentError({
    what: 'trace: no such stage or pass',
    given: `--dump ${name}`,
    expected: `${stageNames.join(', ')}, passes, or after: with one of ${passNames.join(', ')}`,
    remedy:
      didYouMean(name, [...stageNames, 'passes', ...passNames.map((pass) => `after:${pass}`)]) ??
      'list stages and passes separated by commas',
  });
}
