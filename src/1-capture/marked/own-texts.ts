/**
 * Texts of modules of this package that every program contains, by file: JSON, deflated, in base64. They are here because
 * the compiler alone reads them. Empty in the sources, where nothing of the package is instrumented; the build fills it
 * (`build/own-code.ts`).
 */
export const ownTexts: string = '';
