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

const key = Symbol.for('tostatic.packageFolder');

/** One folder for all projects, each of which may load this file anew. */
export function setup(project: TestProject): () => void {
  const shared = globalThis as { [key]?: string };
  shared[key] ??= mkdtempSync(join(tmpdir(), 'tostatic-package-'));
  const folder = shared[key];
  project.provide('packageFolder', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
