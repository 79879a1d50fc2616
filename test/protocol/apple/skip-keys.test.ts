import { skippablePane } from '../../../src/protocol/apple/skip-keys.js';

describe('a pane of Setup Assistant', () => {
  it.each([
    ['AppleID', 'AppleID', ['iOS', 'macOS', 'tvOS', 'visionOS']],
    ['ScreenSaver', 'ScreenSaver', ['tvOS']],
    ['FileVault', 'FileVault', ['macOS']],
    ['zoom', 'Zoom', ['iOS', 'visionOS']],
    ['TVRoom', 'TVRoom', ['tvOS']],
  ])('%s is known as %s on %j', (name, key, systems) => {
    expect(skippablePane(name)).toEqual({ key, systems });
  });

  it.each(['', 'Pane', '__proto__', 'constructor'])('%j is unknown', (name) => {
    expect(skippablePane(name)).toBeUndefined();
  });
});
