import { ArgumentError } from '../../runtime/errors/errors.ts';
import { Captured } from '../dispatch/captured-function.ts';
import { explain } from '../explain/explain.ts';
import { finishCall } from './files/finish-call.ts';
import { loadFunction } from './files/load-function.ts';
import { writeOutput } from './files/write-output.ts';

interface ExplainOptions {
  readonly function?: string;
  readonly calls: string;
  readonly guards?: boolean;
  readonly html?: string;
}

/** `tostatic explain`: makes some calls, the last one with final plans, then explains the function. */
export async function explainFile(file: string, options: ExplainOptions): Promise<void> {
  const calls = Number(options.calls);
  if (!Number.isInteger(calls) || calls < 1) {
    throw new ArgumentError({
      what: 'explain: --calls is not a count',
      given: `--calls ${options.calls}`,
      expected: 'an integer from 1',
      remedy: 'leave it out for 2 calls',
    });
  }
  const { fn, inputs } = await loadFunction(file, options.function);
  const captured = new Captured(fn, {});
  for (let i = 0; i < calls; i++) {
    if (i === calls - 1) await captured.ready();
    await finishCall(captured.call(undefined, await inputs()));
  }
  await captured.ready();
  const { guards = false, html } = options;
  process.stdout.write(explain(captured, { guards }));
  if (html === undefined) return;
  writeOutput(html, explain(captured, { as: 'page' }));
  process.stderr.write(`page: ${html}\n`);
}
