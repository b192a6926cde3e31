"""Languages by name and by code (ISO 639-1)."""

from types import MappingProxyType
from typing import Final

LANGUAGES: Final = MappingProxyType(
    {
        "arabic": "ar", "bengali": "bn", "bulgarian": "bg", "catalan": "ca", "chinese": "zh",
        "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en",
        "estonian": "et", "finnish": "fi", "french": "fr", "german": "de", "deutsch": "de",
        "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "indonesian": "id",
        "italian": "it", "japanese": "ja", "korean": "ko", "latvian": "lv", "lithuanian": "lt",
        "malay": "ms", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt",
        "romanian": "ro", "russian": "ru", "serbian": "sr", "slovak": "sk", "slovenian": "sl",
        "spanish": "es", "swedish": "sv", "thai": "th", "turkish": "tr", "ukrainian": "uk",
        "vietnamese": "vi",
    }
)  # fmt: skip
"""English names that people write where a code is expected."""
