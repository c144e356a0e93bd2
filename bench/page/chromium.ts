import type { Browser } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';

/** @param say gets the reason when there is none @returns null: there is none on this machine */
export async function launchChromium(say: (text: string) => void): Promise<Browser | null> {
  const { chromium } = await import('playwright-core');
  try {
    return await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  } catch (error) {
    say(`not measured: ${(error as Error).message.split('\n')[0] ?? ''}`);
    return null;
  }
}
