import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newerNode } from '../newer-node.ts';
import { notTested } from '../not-tested.ts';

/** The path of a Node that has vectors of 256 bits. Null, said loudly, where the machine has none. */
export function nodeWithWideVectors(): string | null {
  const what = 'vectors of 256 bits';
  if (process.platform === 'linux' && !readFileSync('/proc/cpuinfo', 'utf8').includes(' avx2 ')) {
    notTested(what, 'the processor has no AVX2');
    return null;
  }
  const folder = newerNode(what);
  return folder && join(folder, 'node');
}
