/** Runs entries that may write or stop midway, and reports why a program leaves a call to eager execution. */

import type { Holder } from '../../runtime/device/holder.ts';
import { holdingLines } from '../../runtime/run-program/control/lines.ts';
import { isRefused } from '../../runtime/run-program/refused.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import type { Entry, EntryOutcome } from './entry.ts';
import type { OwnedTensors } from './ownership/owned-tensors.ts';

export const oneMemory = 'two inputs of the program are views of one memory, which it writes';

export const refusedBecause = ({ message }: Error): string =>
  `a check or an op of the program rejected its values (${message.split('\n')[0]})`;

/** Runs the entry. Returns the reason if the program can't run the call; the user's state is then unchanged. */
export function runOrFail(
  entry: Entry,
  frames: readonly Frame[],
  owned: OwnedTensors,
): EntryOutcome | string {
  const written = writtenHolders(entry, frames);
  const versions = written.map(versionOf);
  try {
    const outcome = entry.subgraph?.holdsLines
      ? holdingLines(() => entry.run(frames, owned), isRefused)
      : entry.run(frames, owned);
    return outcome ?? oneMemory;
  } catch (error) {
    // If a tensor was written in place, running the call again would write twice.
    if (!isRefused(error) || haveChanged(written, versions)) throw error;
    return refusedBecause(error);
  }
}

/** Like `runOrFail`, with an asynchronous backend. */
export async function runAwaited(
  entry: Entry,
  frames: readonly Frame[],
  owned: OwnedTensors,
): Promise<EntryOutcome | string> {
  const written = writtenHolders(entry, frames);
  const versions = written.map(versionOf);
  try {
    return (await entry.runAsync(frames, owned)) ?? oneMemory;
  } catch (error) {
    if (!isRefused(error) || haveChanged(written, versions)) throw error;
    return refusedBecause(error);
  }
}

const versionOf = ({ version }: Holder): number => version;

/** The memory that an entry writes. */
function writtenHolders(entry: Entry, frames: readonly Frame[]): readonly Holder[] {
  return entry.writes(frames).map(holderOf);
}

const holderOf = (tensor: Tensor): Holder => tensor.holderFor('a captured function');

function haveChanged(holders: readonly Holder[], versions: readonly number[]): boolean {
  return holders.some(({ version }, i) => version !== versions[i]);
}
