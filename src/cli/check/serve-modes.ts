import { errorText } from '../files/report-error.ts';
import type { ModeObservation } from './processes.ts';
import { type ModeRequest, runMode } from './run-mode.ts';

/** The hidden command that runs modes for its parent, until that sends `finish`. */
export function serveModes(): void {
  const { stdout } = process;
  const { write } = stdout;
  let lines = '';
  stdout.write = ((text: string | Uint8Array): boolean => {
    lines += typeof text === 'string' ? text : new TextDecoder().decode(text);
    return true;
  }) as typeof write;
  const respond = async (request: ModeRequest): Promise<ModeObservation> => {
    try {
      const report = await runMode(request);
      return { report, lines };
    } catch (error) {
      return { ended: errorText(error) };
    }
  };
  process.on('message', async (request: ModeRequest | 'finish') => {
    if (request === 'finish') {
      // The parent also reads what timers print later.
      stdout.write = write;
      stdout.write(lines);
      process.disconnect();
      return;
    }
    lines = '';
    process.send!(await respond(request));
    lines = '';
  });
}
