/** A request that an admin can send as it is. */
export interface FindingAction {
  method: 'POST' | 'PATCH';
  path: string;
  body: Record<string, unknown> | null;
}

export interface FindingText {
  /** One sentence with the facts. */
  message: string;
  /** The next step. */
  advice: string;
  action: FindingAction | null;
}

/** What a text is made of. */
export interface TextInput {
  deviceId: number;
  since: Date;
  facts: Facts;
}

export type TextOf = (input: TextInput) => FindingText;

/** Members of a finding's JSON object. */
export class Facts {
  constructor(private readonly values: Record<string, unknown>) {}

  text(name: string): string | undefined {
    const value = this.values[name];
    return value === null || value === undefined ? undefined : String(value);
  }

  number(name: string): number {
    return Number(this.values[name] ?? 0);
  }

  is(name: string): boolean {
    return this.values[name] === true;
  }

  list(name: string): string[] {
    const value = this.values[name];
    return Array.isArray(value) ? value.map(String) : [];
  }

  /** As in a sentence. */
  time(name: string): string | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : minute(new Date(text));
  }
}

/** "2026-11-24 03:46 UTC" */
export function minute(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Asks the device to contact the server. */
export function pushAction(deviceId: number): FindingAction {
  return { method: 'POST', path: `/api/v1/devices/${deviceId}/push`, body: null };
}

/** The end of a sentence, whether or not the text has one. */
export function sentence(text = ''): string {
  return `${text.replace(/[.\s]+$/, '')}.`;
}
