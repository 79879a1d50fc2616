/** Every problem found, one line each; the values, which may be secret, are not in them. */
export class ConfigError extends Error {
  constructor(readonly problems: string[]) {
    super(['The configuration is not usable:', ...problems.map((line) => `  ${line}`)].join('\n'));
    this.name = 'ConfigError';
  }
}
