import {
  createBypassCode,
  formatBypassCode,
  hashBypassCode,
  parseBypassCode,
} from '../../../src/crypto/secrets/bypass-code.js';
import vectors from '../../fixtures/dep/activation-lock-bypass-codes.json';

const hex = (text: string) => Buffer.from(text, 'hex');

describe('what is refused as a bypass code', () => {
  it.each([
    ['nothing', '', 'has 0 characters, not 26'],
    ['one too short', '8LNYD-DVNKU-GYRC-E6GU-3YFD-CT8', 'has 25 characters, not 26'],
    ['one too long', '8LNYD-DVNKU-GYRC-E6GU-3YFD-CT866', 'has 27 characters, not 26'],
    ['what nobody would type', '-'.repeat(101), 'is too long'],
    [
      'a letter of other scripts',
      'ÄLNYD-DVNKU-GYRC-E6GU-3YFD-CT86',
      'a character that no code has',
    ],
    ['a sign', '8LNYD-DVNKU-GYRC-E6GU-3YFD-CT8!', 'a character that no code has'],
    ['an end of more bits than there are', '8LNYD-DVNKU-GYRC-E6GU-3YFD-CT88', 'ends with'],
  ])('%s', (_what, typed, fault) => {
    const parse = () => parseBypassCode(typed);
    expect(parse).toThrow(expect.objectContaining({ code: 'validation_failed', status: 422 }));
    expect(parse).toThrow(fault);
  });

  it('bytes of another length', () => {
    expect(() => formatBypassCode(Buffer.alloc(15))).toThrow('has 15 bytes and not 16');
    expect(() => formatBypassCode(Buffer.alloc(17))).toThrow('has 17 bytes and not 16');
  });
});

describe('a bypass code', () => {
  it.each(vectors)('of the bytes $raw is $code', async ({ raw, code, hash }) => {
    expect(formatBypassCode(hex(raw))).toBe(code);
    expect(parseBypassCode(code).toString('hex')).toBe(raw);
    expect(await hashBypassCode(hex(raw))).toBe(hash);
  });

  it('is read however it was typed', () => {
    const [raw, typed] = ['9653b0f9b495d8fab25e728ff041b0f1', 'KT9V1YEMKQDGNDKYFA7Z0HEHY1'];
    for (const each of [typed, typed.toLowerCase(), ` ${typed.replace(/(.{3})/g, '$1 - ')}\n`]) {
      expect(parseBypassCode(each).toString('hex')).toBe(raw);
    }
    expect(parseBypassCode('KT9VIYEMKQDGNDKYFA7ZOHEHYI').toString('hex')).toBe(raw);
    expect(parseBypassCode(`${'B'.repeat(25)}0`)).toEqual(parseBypassCode(`${'8'.repeat(25)}0`));
    expect(parseBypassCode('s'.repeat(26))).toEqual(parseBypassCode('5'.repeat(26)));
  });

  it('is new each time and has 16 bytes, which its text parses to', () => {
    const codes = Array.from({ length: 200 }, createBypassCode);
    expect(new Set(codes.map(formatBypassCode)).size).toBe(200);
    for (const raw of codes) {
      expect(raw).toHaveLength(16);
      expect(parseBypassCode(formatBypassCode(raw))).toEqual(raw);
    }
  });
});
