import { ArgumentError, CaptureError } from '../../runtime/errors/errors.ts';
import { Captured } from '../captured-function.ts';
import { printStages, type StageName, stageNames } from '../explain/print-stages.ts';
import { loadFunction } from './load-function.ts';

interface TraceOptions {
  readonly function?: string;
  readonly dump?: string;
}

/** `tostatic trace`: one call, then every stage as text. */
export async function traceFile(file: string, options: TraceOptions): Promise<void> {
  const wanted =
    options.dump === undefined ? stageNames : options.dump.split(',').map(checkedStage);
  const { fn, inputs } = await loadFunction(file, options.function);
  const captured = new Captured(fn, {});
  await captured.call(undefined, inputs());
  const { code } = captured;
  if (!code) {
    const [fallback] = captured.stats().fallbacks;
    throw new CaptureError({
      what: 'trace: the function is not captured',
      given: fn.name || 'a function without name',
      expected: 'a function whose source and scope can be had',
      remedy: fallback?.why ?? 'see the refusals in the documentation',
    });
  }
  for (const { title, text } of printStages(code.closure.code, captured.parts, wanted)) {
    process.stdout.write(`── ${title} ──\n${text.endsWith('\n') ? text : `${text}\n`}\n`);
  }
}

function checkedStage(name: string): StageName {
  const stage = stageNames.find((known) => known === name.trim());
  if (stage) return stage;
  throw new ArgumentError({
    what: 'trace: no such stage',
    given: `--dump ${name}`,
    expected: stageNames.join(', '),
    remedy: 'list stages separated by commas',
  });
}
