/** The child process of own-process.ts: receives options, trains, sends the result. */

import { TostaticError } from '../../src/index.ts';
import type { Message } from './own-process.ts';
import { type TrainingOptions, train } from './train.ts';

/** The number of steps between two messages, each of which costs time. */
const interval = 10;

function send(message: Message): void {
  process.send?.(message);
}

async function serve(options: TrainingOptions): Promise<void> {
  try {
    const result = await train(options, (step, loss) => {
      if (step % interval === 0) send({ kind: 'step', step, loss });
    });
    send({ kind: 'done', result });
  } catch (error) {
    send({ kind: 'failed', message: describe(error) });
  }
  process.disconnect();
}

/** A user's mistake is explained by the message; any other error needs its stack. */
function describe(error: unknown): string {
  if (error instanceof TostaticError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

process.once('message', (options: TrainingOptions) => serve(options));
// The parent no longer waits for the result.
process.once('disconnect', () => process.exit());
