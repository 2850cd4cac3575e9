# Make sure that there is a Chromium for the browser tests: this machine's, Debian's, or playwright's own.
for program in "${CHROMIUM:-chromium}" chromium chromium-browser google-chrome; do
    command -v "$program" >/dev/null && exit 0
done
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium) >/dev/null 2>&1 && exit 0
fi
"$1/playwright" install chromium >/dev/null 2>&1 && exit 0
echo "the browser tests need Chromium: install it (Debian: apt-get install chromium), or set CHROMIUM to its path" >&2
exit 1
