import { type Subject, stepAlone, workloadOf } from '../../lab/compare/workload.ts';
import { functionOf, importFile } from '../files/load-function.ts';

interface LoadedSubject {
  readonly isPlainStep: boolean;
  /** Creates the arguments of a plain step. */
  readonly subject: () => Promise<Subject>;
}

/** Loads a module's subject: its `workload`, or an exported training step with its `inputs`. */
export async function loadSubject(file: string, name: string | undefined): Promise<LoadedSubject> {
  const exports = await importFile(file);
  const workload = name === undefined ? workloadOf(file, exports) : null;
  if (workload) return { subject: async () => workload, isPlainStep: false };
  const { fn, inputs } = functionOf(file, name, exports);
  const subject = async () => {
    const args = await inputs();
    return stepAlone(fn as (...inputs: unknown[]) => unknown, () => args);
  };
  return { subject, isPlainStep: true };
}
