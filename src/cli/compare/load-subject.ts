import type { Subject } from '../../lab/compare/workload.ts';
import { stepAlone, workloadOf } from '../../lab/compare/workload.ts';
import { functionOf, importFile } from '../files/load-function.ts';

/** Loads a module's subject: its `workload`, or an exported training step with its `inputs`. */
export async function loadSubject(
  file: string,
  name: string | undefined,
): Promise<{ readonly subject: Subject; readonly isPlainStep: boolean }> {
  const exports = await importFile(file);
  const workload = name === undefined ? workloadOf(file, exports) : null;
  if (workload) return { subject: workload, isPlainStep: false };
  const { fn, inputs } = functionOf(file, name, exports);
  return { subject: stepAlone(fn as (...inputs: unknown[]) => unknown, inputs), isPlainStep: true };
}
