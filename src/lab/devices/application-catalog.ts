import type { LabPlatform } from './device-models.js';

export interface CatalogApplication {
  /** Absent on Mac bundles that carry none; such entries are common in a Mac's list. */
  identifier?: string;
  name: string;
  isApple: boolean;
}

const APPLE_MAC = `App Store=AppStore|Automator=Automator|Books=iBooksX|Calculator=calculator|Calendar=iCal
|Chess=Chess|Contacts=AddressBook|Dictionary=Dictionary|FaceTime=FaceTime|Find My=findmy
|Font Book=FontBook|Freeform=freeform|Home=Home|Image Capture=Image_Capture|Keynote=iWork.Keynote
|Mail=mail|Maps=Maps|Messages=MobileSMS|Mission Control=exposelauncher|Music=Music|News=news
|Notes=Notes|Numbers=iWork.Numbers|Pages=iWork.Pages|Photo Booth=PhotoBooth|Photos=Photos
|Podcasts=podcasts|Preview=Preview|QuickTime Player=QuickTimePlayerX|Reminders=reminders
|Safari=Safari|Shortcuts=shortcuts|Siri=siri.launcher|Stickies=Stickies|Stocks=stocks
|System Settings=systempreferences|TextEdit=TextEdit|Time Machine=backup.launcher|TV=TV
|Voice Memos=VoiceMemos|Weather=weather|Xcode=dt.Xcode|iMovie=iMovieApp|GarageBand=garageband10
|Activity Monitor=ActivityMonitor|AirPort Utility=airport.airportutility
|Audio MIDI Setup=audio.AudioMIDISetup|Bluetooth File Exchange=BluetoothFileExchange
|Boot Camp Assistant=bootcampassistant|ColorSync Utility=ColorSyncUtility|Console=Console
|Digital Color Meter=DigitalColorMeter|Disk Utility=DiskUtility|Grapher=grapher
|Keychain Access=keychainaccess|Migration Assistant=MigrateAssistant|Screen Sharing=ScreenSharing
|Script Editor=ScriptEditor2|System Information=SystemProfiler|Terminal=Terminal`;

const APPLE_IOS = `Clips=clips|GarageBand=mobilegarageband|iMovie=iMovie|iTunes U=itunesu|Keynote=Keynote
|Numbers=Numbers|Pages=Pages|Playgrounds=Playgrounds|Classroom=classroom|Swift Remote=Remote
|Apple Store=store.Jolly|Support=supportapp|TestFlight=TestFlight|Shazam=shazam.Shazam`;

const VENDORS = [
  'acornsoft',
  'birchlabs',
  'cobaltworks',
  'driftwood',
  'emberline',
  'fathomapps',
  'glasshouse',
  'harborlight',
  'inkwell',
  'junipertech',
  'kitestring',
  'lanternhq',
] as const;

const FIRST = [
  'Amber',
  'Bright',
  'Clear',
  'Daily',
  'Easy',
  'Field',
  'Green',
  'Harbor',
  'Inner',
  'Jolly',
  'Keen',
  'Little',
  'Meadow',
  'North',
  'Open',
  'Pocket',
  'Quick',
  'River',
  'Smart',
  'Tidy',
  'Urban',
  'Vivid',
  'Wild',
  'Zen',
] as const;

const SECOND = [
  'Atlas',
  'Budget',
  'Calendar',
  'Draw',
  'Editor',
  'Focus',
  'Games',
  'Health',
  'Invoice',
  'Journal',
  'Kitchen',
  'Learn',
  'Mail',
  'Notes',
  'Office',
  'Planner',
  'Quiz',
  'Reader',
  'Scanner',
  'Tasks',
  'Video',
  'Weather',
] as const;

/** Parts of larger Mac products that have no bundle identifier of their own. */
const NAMELESS = [
  'Set Info',
  'Uninstall Printer Tools',
  'Font Import Helper',
  'Legacy Updater',
  'Crash Sender',
  'Install Support',
  'Document Converter',
  'Setup Guide',
] as const;

function apple(list: string): CatalogApplication[] {
  return list.split('|').map((entry) => {
    const [name = '', identifier = ''] = entry.trim().split('=');
    return { name, identifier: `com.apple.${identifier}`, isApple: true };
  });
}

function thirdParty(suffix: string): CatalogApplication[] {
  return FIRST.flatMap((first, row) =>
    SECOND.map((second, column) => {
      const vendor = VENDORS[(row * 7 + column) % VENDORS.length] as string;
      const identifier = `com.${vendor}.${first}${second}${suffix}`.toLowerCase();
      return { name: `${first} ${second}`, identifier, isApple: false };
    }),
  );
}

export const APPLICATION_CATALOG: Record<LabPlatform, readonly CatalogApplication[]> = {
  iOS: [...apple(APPLE_IOS), ...thirdParty('')],
  macOS: [
    ...apple(APPLE_MAC),
    ...NAMELESS.map((name) => ({ name, isApple: false })),
    ...thirdParty('.mac'),
  ],
};
