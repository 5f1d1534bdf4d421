/** The version in `package.json`, which published files don't read: they may be bundled anywhere. */
export const packageVersion = '0.1.0';
