import type { FoundRow } from '../db/diagnosis/findings.js';
import { ENROLLMENT_TEXTS } from './enrollment-texts.js';
import { Facts, type FindingText, type TextOf } from './finding-text.js';
import { REACH_TEXTS } from './reach-texts.js';
import { WORK_TEXTS } from './work-texts.js';

const TEXTS: Record<string, TextOf> = { ...REACH_TEXTS, ...WORK_TEXTS, ...ENROLLMENT_TEXTS };

/** Every code; a test holds that the rules find no other. */
export const FINDING_CODES = Object.keys(TEXTS);

/** Message, advice and action of a finding. Throws for a code without a text, which no rule has. */
export function textOf(deviceId: number, { code, since, facts }: FoundRow): FindingText {
  const text = TEXTS[code];
  if (text === undefined) throw new Error(`the finding ${code} has no text`);
  return text({ deviceId, since, facts: new Facts(facts) });
}
