import type { ModuleText } from './probe.ts';

/**
 * Returns the texts of the modules of this package that are in every program, by file. They are stored here because
 * only the compiler reads them. Empty in the sources, where the package isn't instrumented; the build fills it
 * (`build/own-code.ts`).
 */
export const ownTexts = (): Readonly<Record<string, ModuleText>> => ({});
