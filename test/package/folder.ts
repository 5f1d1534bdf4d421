import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where tests share what they build of the package; outside of the repository. */
    readonly packageFolder: string;
  }
}

export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'tostatic-package-'));
  // For the files of all projects.
  project.vitest.provide('packageFolder', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
