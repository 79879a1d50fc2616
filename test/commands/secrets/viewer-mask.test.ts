import { maskForViewers } from '../../../src/commands/secrets/viewer-mask.js';

const MASK = '********';

describe('what viewers read of a command', () => {
  it.each([
    ['https://host/a/manifest.plist', 'https://host/a/manifest.plist'],
    ['https://host/m?token=abc', `https://host/m?${MASK}`],
    ['https://host/m?a#b', `https://host/m?${MASK}`],
    ['https://host?token=abc', `https://host?${MASK}`],
    ['https://host/m#token', `https://host/m#${MASK}`],
    ['https://user:pass@host/m', `https://${MASK}@host/m`],
    ['https://user@host:8443/m?x=1', `https://${MASK}@host:8443/m?${MASK}`],
    ['https://user:p@ss@host/', `https://${MASK}@host/`],
    ['HTTPS:\\\\user:pass@host\\m?t', `HTTPS:\\\\${MASK}@host\\m?${MASK}`],
    ['itms-services://?action=download&url=https://u:p@h/?t', `itms-services://?${MASK}`],
    [
      'see https://host/a?t=1 and "ftp://u:p@host/b".',
      `see https://host/a?${MASK} and "ftp://${MASK}@host/b".`,
    ],
    ['an email to user@host, really?', 'an email to user@host, really?'],
  ])('of the text %s is %s', (text, shown) => {
    expect(maskForViewers(text)).toBe(shown);
    expect(maskForViewers({ List: [{ Any: text }] })).toEqual({ List: [{ Any: shown }] });
  });

  it('has no query in a URL without a scheme either', () => {
    expect(maskForViewers({ ManifestURL: '/m?token=abc', Name: 'why?' })).toEqual({
      ManifestURL: `/m?${MASK}`,
      Name: 'why?',
    });
  });

  it('has no managed app configuration, at any depth', () => {
    const Configuration = { server: 'https://host', password: 'p' };
    const Settings = [{ Item: 'ApplicationConfiguration', Identifier: 'a', Configuration }];
    expect(maskForViewers({ Configuration, Settings, Other: { Configuration: null } })).toEqual({
      Configuration: MASK,
      Settings: [{ Item: 'ApplicationConfiguration', Identifier: 'a', Configuration: MASK }],
      Other: { Configuration: null },
    });
  });

  it('takes time in proportion to the text', () => {
    const text = `${'a'.repeat(1_000_000)}:${':/'.repeat(200_000)}`;
    const before = performance.now();
    maskForViewers(text);
    expect(performance.now() - before).toBeLessThan(500);
  });
});
