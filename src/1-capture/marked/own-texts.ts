import type { StoredFunctions } from './probe.ts';

/**
 * Modules of this package that every program contains, by file. They are stored here because only the compiler
 * reads them. Empty in the sources, where the package isn't instrumented; the build fills them (`build/own-code.ts`).
 */

/** Texts: JSON, deflated, in base64. */
export const ownTexts: string = '';

export const ownFunctions: Readonly<Record<string, StoredFunctions>> = {};
