import { fork } from 'node:child_process';
import { once } from 'node:events';
import { eager, type Mode } from './modes.ts';
import type { ModeReport, ModeRequest } from './run-mode.ts';

/** The observations of one mode in its own process; `ended`: it died, with this text on standard error. */
export type Seen =
  | { readonly report: ModeReport; readonly lines: string }
  | { readonly ended: string };

/** How long one mode may take, in milliseconds. */
const timeLimit = 120_000;

/** Runs one mode in its own process: modules and random numbers start afresh. */
export async function seeMode(request: ModeRequest): Promise<Seen> {
  const child = fork(process.argv[1]!, ['check-mode', JSON.stringify(request)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    timeout: timeLimit,
  });
  let report: ModeReport | undefined;
  let [lines, errors] = ['', ''];
  child.on('message', (message) => {
    report = message as ModeReport;
  });
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    lines += text;
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  await once(child, 'close');
  return report
    ? { report, lines }
    : { ended: errors.trim() || 'the process ended without output' };
}

export interface ModeDifference {
  /** Where it was found: a path, or `console`. */
  readonly at: string;
  readonly eager: string;
  readonly captured: string;
}

/** The verdict on one mode. */
export type Verdict =
  | { readonly kind: 'same'; readonly checked: number }
  /** The mode does not apply, for example because the function is not one program. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'different'; readonly difference: ModeDifference };

/** Compares a mode with eager execution. Null if the function can't be run eagerly. */
export async function judge(
  request: Omit<ModeRequest, 'mode'>,
  mode: Mode,
  expected?: Seen,
): Promise<Verdict | null> {
  const [wanted, seen] = await Promise.all([
    expected ?? seeMode({ ...request, mode: eager }),
    seeMode({ ...request, mode }),
  ]);
  return 'ended' in wanted ? null : compare(wanted, seen);
}

function compare(wanted: Exclude<Seen, { ended: string }>, seen: Seen): Verdict {
  if ('ended' in seen) return different('the process', 'ends as it should', seen.ended);
  const { failed } = seen.report;
  if (failed && failed.name !== 'CheckError' && failed.name !== 'InvariantError') {
    return { kind: 'refused', why: failed.message.split('\n')[0]! };
  }
  if (failed) return different('check mode', 'no difference', failed.message);
  const [a, b] = [wanted.report.observed, seen.report.observed];
  for (const path of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (a[path] !== b[path]) return different(path, a[path] ?? 'nothing', b[path] ?? 'nothing');
  }
  if (wanted.lines !== seen.lines) return different('console', wanted.lines, seen.lines);
  return { kind: 'same', checked: seen.report.checked };
}

function different(at: string, eagerly: string, captured: string): Verdict {
  return { kind: 'different', difference: { at, eager: eagerly, captured } };
}
