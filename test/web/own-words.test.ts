import { FINDING_CODES, textOf } from '../../src/diagnosis/finding-texts.js';
import { adviceOf, faultWords, warningOf } from '../../web/src/text/own-words.js';

describe('what the API says for curl', () => {
  it.each(FINDING_CODES)('names no request in the advice of %s', (code) => {
    const since = new Date('2026-11-24T03:46:00Z');
    const { advice } = textOf(3, { code, severity: 'stuck', since, facts: {} });
    expect(adviceOf({ code, advice })).not.toMatch(/\/api\/v1|\b(POST|PATCH|DELETE)\b/);
  });

  it('names the field of a fault only where it is not at the field', () => {
    expect(faultWords('ttl', 'ttl must be at least 1')).toBe('Must be at least 1.');
    expect(faultWords('name', 'another group has this name.')).toBe('Another group has this name.');
    expect(faultWords('name', 'name must not be null')).toBe('Fill this in.');
    expect(faultWords('', ' must be an object')).toBe('Must be an object.');
  });

  it('is kept where the console has no words for it', () => {
    expect(warningOf({ code: 'no_push_certificate', detail: 'POST one' })).toContain('Upload one');
    expect(warningOf({ code: 'other', detail: 'Something else.' })).toBe('Something else.');
  });
});
