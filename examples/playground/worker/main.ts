/** The worker: does all computation, so that the page never blocks. */

import { TostaticError } from '../../../runtime/errors/errors.ts';
import type { Answer, PlacedText, Request } from '../messages.ts';
import { inspect } from './inspect.ts';
import { TextError } from './text-places.ts';
import { train } from './train.ts';
import { fileName } from './user-module.ts';

const post = (answer: Answer): void => self.postMessage(answer);

self.addEventListener('message', async ({ data }: MessageEvent<Request>) => {
  const { id } = data;
  try {
    if (data.kind === 'inspect') post({ kind: 'inspected', id, result: await inspect(data) });
    else {
      const result = await train(data, (progress) => post({ kind: 'progress', id, progress }));
      post({ kind: 'trained', id, result });
    }
  } catch (error) {
    post({ kind: 'failed', id, problem: problemOf(error) });
  }
});

/** Returns the message, and its position in the text. */
function problemOf(error: unknown): PlacedText {
  if (error instanceof TextError) {
    return { line: error.line, column: error.column, message: error.message };
  }
  if (!(error instanceof Error)) return { line: 1, column: 1, message: String(error) };
  const at = error instanceof TostaticError ? error.at : undefined;
  const place = at?.file === fileName ? at : placeInStack(error.stack);
  return {
    line: place?.line ?? 1,
    column: place?.column ?? 1,
    message: `${error.name}: ${error.message}`,
  };
}

function placeInStack(stack = ''): { line: number; column: number } | undefined {
  const found = new RegExp(`${fileName.replace('.', '\\.')}:(\\d+):(\\d+)`).exec(stack);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : undefined;
}
