/**
 * Texts of the modules of this package that are in every program, by file: JSON, deflated, in base64. They are stored
 * here because only the compiler reads them. Empty in the sources, where the package isn't instrumented; the build
 * fills it (`build/own-code.ts`).
 */
export const ownTexts: string = '';
