interface Answered {
  error_chain?: unknown;
  reason?: string | null;
}

/** The device's own words of an error, or why the server ended the command. */
export function answerOf({ error_chain: chain, reason }: Answered): string | undefined {
  const errors = Array.isArray(chain) ? (chain as Record<string, unknown>[]) : [];
  for (const error of errors) {
    for (const name of ['LocalizedDescription', 'USEnglishDescription']) {
      if (typeof error[name] === 'string' && error[name] !== '') return error[name];
    }
  }
  const [first] = errors;
  if (first !== undefined) return `${first['ErrorDomain']} ${first['ErrorCode']}`;
  return reason?.replaceAll('_', ' ') ?? undefined;
}
